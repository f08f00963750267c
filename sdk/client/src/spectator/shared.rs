//! What the watch and the application's handles both see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use plimsoll_placement::time::Time;
use plimsoll_routing::{Delta, Rejected, RoutedExecutor, Table};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Status;

use super::Owner;
use super::call::{Turns, Waiting};
use super::map::Map;
use crate::clock::Clock;

/// A map that was confirmed this recently is up to date as long as the watch lasts.
/// A server confirms it every 10 s.
const FRESH: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct Shared {
    namespace: String,
    clock: Clock,
    map: RwLock<Map>,
    /// How old the map was, in milliseconds, when the server sent its last word.
    replica_age: AtomicU64,
    /// The watch that confirmed it still stands.
    is_watched: AtomicBool,
    /// The revision of the map, sent whenever it changed.
    revision: watch::Sender<u64>,
    /// The last word of a server that will say the same again.
    refused: watch::Sender<Option<Status>>,
    /// Requests for shards in handover.
    pub(super) waiting: Arc<Waiting>,
    /// Lookups on behalf of those.
    pub(super) turns: Turns,
    pub(super) counters: Counters,
}

/// How often requests met with a handover.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Requests that were refused because the shard was not there.
    pub(super) refused: AtomicU64,
    /// Times that a request was held.
    pub(super) held: AtomicU64,
    /// Requests that were given up, or not held because too many were.
    pub(super) gave_up: AtomicU64,
}

impl Counters {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Shared {
    pub(super) fn new(namespace: String, hold_at_most: usize) -> Self {
        Self {
            namespace,
            clock: Clock::new(),
            map: RwLock::default(),
            replica_age: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
            revision: watch::Sender::new(0),
            refused: watch::Sender::new(None),
            waiting: Arc::new(Waiting::new(hold_at_most)),
            turns: Turns::new(),
            counters: Counters::default(),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn instant(&self, time: Time) -> Instant {
        self.clock.instant(time)
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

    /// Keeps the answer to a lookup; if it is news, whoever is held for the shard
    /// may go.
    pub(super) fn remember(&self, shard: &Arc<str>, owner: Owner) {
        let is_news = self.write(|map, now| {
            let before = map.find(now, shard);
            map.remember(now, Arc::clone(shard), owner);
            map.find(now, shard) != before
        });
        if is_news {
            self.waiting.open(shard);
        }
    }

    /// How long ago the leader confirmed the map; `None` before there is one.
    pub(super) fn age(&self) -> Option<Duration> {
        let heard = self.read(|map, now| map.table().age(now))?;
        Some(heard + Duration::from_millis(self.replica_age.load(Ordering::Relaxed)))
    }

    /// Whether news of any shard come by themselves.
    pub(super) fn is_live(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed) && self.age().is_some_and(|age| age <= FRESH)
    }

    /// The watch broke: until the next one has said something there are no news.
    pub(super) fn set_unwatched(&self) {
        self.is_watched.store(false, Ordering::Relaxed);
    }

    fn set_watched(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// The server that is watched may not be the leader: how old its own map is.
    pub(super) fn set_replica_age(&self, millis: u64) {
        self.replica_age.store(millis, Ordering::Relaxed);
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
        self.set_replica_age(0);
        self.set_watched();
        for shard in delta.routes.iter().map(|change| &change.shard).chain(&delta.drained) {
            self.waiting.open(shard);
        }
        self.revision.send_replace(delta.to);
        Ok(())
    }

    pub(super) fn keep_alive(&self, revision: u64) -> Result<(), Rejected> {
        self.write(|map, now| map.keep_alive(now, revision))?;
        self.set_watched();
        Ok(())
    }

    pub(super) fn replace(&self, table: Table) {
        let revision = table.revision();
        let earlier = self.write(|map, _| map.replace(table));
        self.set_watched();
        self.waiting.open_all();
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
