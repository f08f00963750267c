//! What the watch and the application's handles both see.

use std::sync::Arc;

use parking_lot::RwLock;
use plimsoll_placement::time::Time;
use plimsoll_routing::{Delta, Rejected, RoutedExecutor, Table};
use tokio::sync::watch;
use tonic::Status;

use super::map::Map;
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct Shared {
    namespace: String,
    clock: Clock,
    map: RwLock<Map>,
    /// The revision of the map, sent whenever it changed.
    revision: watch::Sender<u64>,
    /// The last word of a server that will say the same again.
    refused: watch::Sender<Option<Status>>,
}

impl Shared {
    pub(super) fn new(namespace: String) -> Self {
        Self {
            namespace,
            clock: Clock::new(),
            map: RwLock::default(),
            revision: watch::Sender::new(0),
            refused: watch::Sender::new(None),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Looks at the map as of now.
    pub(super) fn read<T>(&self, look: impl FnOnce(&Map, Time) -> T) -> T {
        let now = self.now();
        look(&self.map.read(), now)
    }

    /// Changes the map in passing, without a revision.
    pub(super) fn write<T>(&self, change: impl FnOnce(&mut Map, Time) -> T) -> T {
        let now = self.now();
        change(&mut self.map.write(), now)
    }

    /// The epoch and revision to go on from.
    pub(super) fn position(&self) -> (String, u64) {
        self.read(|map, _| (map.table().epoch().to_owned(), map.table().revision()))
    }

    // === what the watch brings ===

    /// A server that has just started knows who owns what, but nothing else of an
    /// executor until it says hello again: then what is known here stays.
    pub(super) fn fill_in(&self, executors: &mut [Arc<RoutedExecutor>]) {
        self.read(|map, _| {
            for executor in executors.iter_mut().filter(|it| it.metadata.is_empty()) {
                if let Some(known) = map.table().executor(&executor.id) {
                    *executor = Arc::clone(known);
                }
            }
        });
    }

    pub(super) fn apply_delta(&self, delta: &Delta) -> Result<(), Rejected> {
        self.write(|map, now| map.apply_delta(now, delta))?;
        self.revision.send_replace(delta.to);
        Ok(())
    }

    pub(super) fn keep_alive(&self, revision: u64) -> Result<(), Rejected> {
        self.write(|map, now| map.keep_alive(now, revision))
    }

    pub(super) fn replace(&self, table: Table) {
        let revision = table.revision();
        let earlier = self.write(|map, _| map.replace(table));
        self.revision.send_replace(revision);
        self.refused.send_replace(None);
        drop(earlier);
    }

    /// `true` if that is news and nobody waits for it, as `connect` does, which
    /// returns it.
    pub(super) fn refuse(&self, status: &Status) -> bool {
        let awaited = self.refused.receiver_count() > 0;
        let before = self.refused.send_replace(Some(status.clone()));
        before.is_none() && !awaited
    }

    // === for those who wait ===

    pub(super) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    pub(super) async fn loaded(&self) {
        let mut revisions = self.revisions();
        let loaded = |_: &u64| self.read(|map, _| map.table().is_loaded());
        // An error says that the sender is gone, which is part of this very object.
        let _ = revisions.wait_for(loaded).await;
    }

    pub(super) async fn refused(&self) -> Status {
        let mut refusals = self.refused.subscribe();
        // Cloned before the next wait: the guard must not be held over it.
        match refusals.wait_for(Option::is_some).await.ok().and_then(|refused| refused.clone()) {
            Some(status) => status,
            // The sender is part of this very object, and there is a status.
            None => std::future::pending().await,
        }
    }
}
