//! What the driver and the application's handles both see: the holder behind a
//! lock that nobody keeps for longer than one step of it.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use plimsoll_ownership::holder::{Finish, Holder, Settings};
use plimsoll_placement::time::Time;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tonic::Status;

use super::contact::Contact;
use super::doors::{Doors, Limits};
use super::identity::Identity;
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) identity: Identity,
    clock: Clock,
    holder: RwLock<Holder>,
    metadata: Mutex<Metadata>,
    /// Tells the driver that the holder has something to do.
    nudge: Notify,
    progress: watch::Sender<Progress>,
    contact: watch::Sender<Contact>,
    pub(super) doors: Doors,
    pub(super) counters: Counters,
}

/// Where the executor is on its way, for those who wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// A server has welcomed it at least once.
    pub(super) welcomed: bool,
    /// `start` has returned it to the application.
    pub(super) came_up: bool,
    /// Shards that start, run or stop.
    pub(super) held: usize,
    /// The last word of a server that will say the same again.
    pub(super) refused: Option<Status>,
    pub(super) finished: Option<Finish>,
}

/// How often something went wrong that stopped nothing.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Beats that found the measurement of loads still under way.
    pub(super) loads_late: AtomicU64,
    /// Loads that were NaN, infinite or negative.
    pub(super) loads_refused: AtomicU64,
    /// Leases that ended before a server was heard.
    pub(super) leases_ended: AtomicU64,
}

impl Counters {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Metadata {
    entries: BTreeMap<String, String>,
    /// Not told to the server yet.
    changed: bool,
}

impl Shared {
    pub(super) fn new(
        identity: Identity,
        metadata: BTreeMap<String, String>,
        settings: Settings,
        limits: Limits,
    ) -> Self {
        Self {
            identity,
            clock: Clock::new(),
            holder: RwLock::new(Holder::new(settings)),
            metadata: Mutex::new(Metadata { entries: metadata, changed: false }),
            nudge: Notify::new(),
            progress: watch::Sender::new(Progress::default()),
            contact: watch::Sender::new(Contact::Away),
            doors: Doors::new(limits),
            counters: Counters::default(),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    // === the holder ===

    /// Looks at the holder as of now.
    pub(super) fn read<T>(&self, look: impl FnOnce(&Holder, Time) -> T) -> T {
        let holder = self.holder.read();
        look(&holder, self.clock.now())
    }

    /// Tells the holder something, as the driver does, who then polls it.
    pub(super) fn tell<T>(&self, event: impl FnOnce(&mut Holder, Time) -> T) -> T {
        let mut holder = self.holder.write();
        event(&mut holder, self.clock.now())
    }

    /// Tells the holder something and has the driver poll it.
    pub(super) fn order(&self, event: impl FnOnce(&mut Holder, Time)) {
        self.tell(event);
        self.nudge.notify_one();
    }

    /// Waits for an order. Cancelling loses nothing.
    pub(super) async fn ordered(&self) {
        self.nudge.notified().await;
    }

    /// Waits until the holder's next deadline, for ever if it has none.
    pub(super) async fn timeout(&self) {
        match self.read(|holder, _| holder.poll_timeout()) {
            Some(due) => tokio::time::sleep_until(self.clock.instant(due)).await,
            None => std::future::pending().await,
        }
    }

    /// When the lease ends; `None` if it is over.
    pub(super) fn lease_end(&self) -> Option<Instant> {
        self.read(|holder, _| holder.lease_end()).map(|end| self.clock.instant(end))
    }

    // === metadata ===

    pub(super) fn set_metadata(&self, key: String, value: String) {
        let mut metadata = self.metadata.lock();
        let before = metadata.entries.insert(key, value.clone());
        metadata.changed |= before != Some(value);
    }

    /// All of it, for a hello.
    pub(super) fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = self.metadata.lock();
        metadata.changed = false;
        metadata.entries.clone()
    }

    /// All of it if it changed since it was last told, for a beat.
    pub(super) fn changed_metadata(&self) -> Option<BTreeMap<String, String>> {
        let mut metadata = self.metadata.lock();
        mem::take(&mut metadata.changed).then(|| metadata.entries.clone())
    }

    // === progress ===

    /// Notes how far it is; wakes those who wait only if something changed.
    pub(super) fn note(&self, update: impl FnOnce(&mut Progress)) {
        let (welcome, held) = self.read(|holder, _| (holder.is_welcome(), holder.len()));
        self.progress.send_if_modified(|progress| {
            let before = progress.clone();
            progress.welcomed |= welcome;
            progress.held = held;
            update(progress);
            progress.differs_from(&before)
        });
    }

    /// Notes how it stands with the servers.
    pub(super) fn meet(&self, contact: Contact) {
        self.contact.send_if_modified(|before| std::mem::replace(before, contact) != contact);
    }

    /// No server is in touch. What the end of the lease has brought stays true.
    pub(super) fn lose_touch(&self) {
        self.contact.send_if_modified(|contact| {
            let lost = *contact == Contact::Connected;
            if lost {
                *contact = Contact::Away;
            }
            lost
        });
    }

    pub(super) fn contact(&self) -> watch::Receiver<Contact> {
        self.contact.subscribe()
    }

    /// Waits until `done` says so.
    pub(super) async fn until(&self, done: impl FnMut(&Progress) -> bool) -> Progress {
        let mut progress = self.progress.subscribe();
        // Cloned before the next wait: the guard must not be held over it.
        match progress.wait_for(done).await.map(|progress| progress.clone()) {
            Ok(progress) => progress,
            // The sender is this very object: it is there.
            Err(_) => std::future::pending().await,
        }
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }
}

impl Progress {
    fn differs_from(&self, before: &Self) -> bool {
        self.welcomed != before.welcomed
            || self.held != before.held
            || self.finished != before.finished
            || self.refused.is_some() != before.refused.is_some()
    }
}
