//! Every namespace that this server leads, and how they come and go.
//!
//! Alone it leads every one that the store has. One of several leads what it is told
//! to: see [`crate::leadership`].

mod new;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use plimsoll_ownership::action::Farewell;
use plimsoll_ownership::event::{Event, What};
use plimsoll_ownership::handover::HandoverState;
use plimsoll_ownership::namespace::{Namespace, Origin};
use plimsoll_ownership::record::{NamespaceRecord, Stored};
use plimsoll_ownership::settings;
use plimsoll_placement::time::Time;
use plimsoll_store::{Error as StoreError, Store};
use plimsoll_wire::v1;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::confidence::Confidence;
use crate::driver::{Driver, NamespaceHandle, Pacing, Surroundings};
use crate::election::{Elector, Won};
use crate::listing::{Listed, Listing};
use crate::metrics::Metrics;

pub use new::NewNamespace;
use run::{Ended, Run};

/// The longest name, in bytes.
const MAX_NAME: usize = 128;
/// The longest executor id, in bytes.
pub(crate) const MAX_EXECUTOR_ID: usize = 256;
/// More shards than this are more than one server can hold.
const MAX_SHARDS: u64 = 2_000_000;
/// One of several servers whose changes do not pass for so long lets another try.
const COMMIT_WITHIN: Duration = Duration::from_secs(3);

/// Every namespace of this server.
#[derive(Debug)]
pub struct Namespaces {
    /// All there are, also those that other servers lead.
    pub listing: Arc<Listing>,
    led: Led,
    /// One is made or deleted at a time.
    changes: tokio::sync::Mutex<()>,
    /// Names that were deleted, and until when their executors may go on.
    deleted: Mutex<BTreeMap<Arc<str>, Time>>,
    store: Arc<dyn Store>,
    /// Whether the store can be trusted to know every namespace there was.
    remembers: bool,
    clock: Clock,
    metrics: Metrics,
    tasks: TaskTracker,
    /// `None`: this server is alone.
    elector: Option<Arc<Elector>>,
}

/// How a leadership begins.
#[derive(Debug)]
pub enum Start {
    /// From the records.
    Cold(Origin),
    /// From what the last leader handed over, and what it had to tell.
    Warm { state: Box<HandoverState>, history: Vec<v1::Event> },
}

type Led = Arc<RwLock<BTreeMap<Arc<str>, Arc<NamespaceHandle>>>>;

/// Why a namespace was not made, opened or deleted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0:?} is not a name for a namespace: use 1 to 128 letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("{0:?} is not a type of namespace: it must be fixed or ephemeral")]
    Type(String),
    #[error("a fixed namespace needs 1 to {MAX_SHARDS} shards, not {0}")]
    Shards(u64),
    #[error("an ephemeral namespace has no fixed number of shards: leave it out")]
    ShardsOfEphemeral,
    #[error("{0:?} is not a shard of this namespace, or its owner is not an executor id")]
    Grant(String),
    #[error(
        "a namespace {name:?} was deleted a moment ago and its executors may still run its \
         shards: try again in {left:.1?}"
    )]
    TooSoon { name: Arc<str>, left: Duration },
    #[error("the server is leaving")]
    Leaving,
    #[error(transparent)]
    Settings(#[from] settings::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Namespaces {
    /// A server without namespaces. `remembers` says whether the store can be
    /// trusted to know every namespace there was: one that is new, or forgets,
    /// cannot. `elector` is there if it is one of several servers.
    pub fn new(
        store: Arc<dyn Store>,
        remembers: bool,
        clock: Clock,
        metrics: Metrics,
        elector: Option<Arc<Elector>>,
    ) -> Self {
        Self {
            listing: Arc::default(),
            led: Led::default(),
            changes: tokio::sync::Mutex::default(),
            deleted: Mutex::default(),
            store,
            remembers,
            clock,
            metrics,
            tasks: TaskTracker::new(),
            elector,
        }
    }

    /// Opens every namespace that the store has: for a server that is alone.
    ///
    /// # Errors
    /// The store cannot be read, or a record does not fit this version.
    pub async fn open_all(&self) -> Result<(), Error> {
        for record in self.store.namespaces().await? {
            let stored = self.store.load(&record.name).await?;
            let shards = stored.grants.len();
            self.open(&record, stored, Origin::Durable).await?;
            tracing::info!(namespace = %record.name, grants = shards, "namespace restored");
        }
        Ok(())
    }

    /// Lists what the store has now: for one of several servers.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn sync(&self) -> Result<(), Error> {
        let _turn = self.changes.lock().await;
        self.list_what_is_stored().await
    }

    /// Only with the turn to change: what is made or deleted meanwhile would be taken
    /// for the opposite.
    async fn list_what_is_stored(&self) -> Result<(), Error> {
        let records = self.store.namespaces().await?;
        for gone in self.listing.sync(&records) {
            tracing::info!(namespace = %gone.name, "namespace deleted");
            self.remember_deletion(&gone);
            if let Some(handle) = self.get(&gone.name) {
                handle.close(Farewell::NamespaceDeleted).await;
            }
        }
        if let Some(elector) = &self.elector {
            elector.names(records.into_iter().map(|record| record.name));
        }
        Ok(())
    }

    fn remember_deletion(&self, gone: &Listed) {
        let until = self.clock.now() + gone.longest_lease;
        self.deleted.lock().insert(gone.name.clone(), until);
    }

    /// Makes a namespace unless there is one of that name. If the store may have
    /// forgotten it, executors are asked what they run.
    ///
    /// # Errors
    /// As [`Namespaces::create`].
    pub async fn ensure(&self, new: &NewNamespace) -> Result<(), Error> {
        // A mistake is one also where what is stored wins.
        let record = new.record()?;
        if let Some(stored) = self.listing.get(&new.name) {
            if stored.kind != record.kind {
                tracing::warn!(namespace = %new.name, stored = ?stored.kind, configured = ?record.kind, "the configuration differs from what is stored, which wins");
            }
            return Ok(());
        }
        let origin = if self.remembers { Origin::New } else { Origin::Forgetful };
        let _turn = self.changes.lock().await;
        match self.make(new, origin).await {
            // Another server was faster.
            Err(Error::Store(StoreError::Exists { .. })) if self.elector.is_some() => {
                self.list_what_is_stored().await
            }
            made => made,
        }
    }

    /// Makes a namespace, also if the caller does not wait for it: half of one
    /// would be in nobody's hands.
    ///
    /// # Errors
    /// A bad name, type, setting or grant, there is one already, or one of that
    /// name was deleted a moment ago.
    pub async fn create(self: &Arc<Self>, new: NewNamespace) -> Result<(), Error> {
        let all = self.clone();
        let made = tokio::spawn(async move {
            let _turn = all.changes.lock().await;
            if all.elector.is_some() {
                // Another server may have deleted it a moment ago.
                all.list_what_is_stored().await?;
            }
            all.refuse_too_soon(&new.name)?;
            all.make(&new, Origin::New).await
        });
        made.await.unwrap_or(Err(Error::Leaving))
    }

    /// Nobody can say whether executors that were cut off have heard of the
    /// deletion; their leases say until when they may go on.
    fn refuse_too_soon(&self, name: &str) -> Result<(), Error> {
        let now = self.clock.now();
        let mut deleted = self.deleted.lock();
        deleted.retain(|_, until| *until > now);
        match deleted.get_key_value(name) {
            Some((name, until)) => Err(Error::TooSoon { name: name.clone(), left: *until - now }),
            None => Ok(()),
        }
    }

    async fn make(&self, new: &NewNamespace, origin: Origin) -> Result<(), Error> {
        let record = new.record()?;
        // Generations must grow although the last ones may be forgotten: those
        // of a store that forgets, or of a namespace of this name that was
        // deleted. Microseconds pass faster than shards are granted.
        let first_generation = self.clock.wall_ms() * 1000;
        let (writes, stored) = new.first_records(record.kind, first_generation)?;
        self.store.create(record.clone(), writes).await?;
        self.listing.add(&record);
        self.lead_what_was_made(&record, stored, origin).await?;
        tracing::info!(namespace = %record.name, kind = %new.kind, shards = new.shards, "namespace created");
        Ok(())
    }

    async fn lead_what_was_made(
        &self,
        record: &NamespaceRecord,
        stored: Stored,
        origin: Origin,
    ) -> Result<(), Error> {
        let Some(elector) = &self.elector else { return self.open(record, stored, origin).await };
        // If another one comes first, that one leads it.
        if let Ok(Some(won)) = elector.run(&record.name, None).await {
            self.drive(record, stored, Start::Cold(origin), won)?;
        }
        Ok(())
    }

    /// Deletes a namespace and everything of it, also if the caller does not wait
    /// for it. Its executors are told to stop.
    ///
    /// # Errors
    /// There is none of that name, or the store is in trouble: then it is there
    /// as before.
    pub async fn delete(self: &Arc<Self>, name: &str) -> Result<(), Error> {
        let (all, name) = (self.clone(), Arc::<str>::from(name));
        let deleted = tokio::spawn(async move {
            let _turn = all.changes.lock().await;
            all.remove(&name).await
        });
        deleted.await.unwrap_or(Err(Error::Leaving))
    }

    /// Its driver ends first: one that outlived its records would go on granting.
    async fn remove(&self, name: &Arc<str>) -> Result<(), Error> {
        let missing = || StoreError::NotFound { namespace: name.clone() };
        let handle = self.get(name).ok_or_else(missing)?;
        let leases = handle.read(|_, it| {
            let longest = it.settings().lease.max(it.settings().heartbeat_ttl);
            if it.executors().is_empty() { Duration::ZERO } else { longest }
        });
        let until = self.clock.now() + leases.await.unwrap_or_default();
        let held = self.elector.as_ref().map(|elector| elector.hold(name));
        handle.close(Farewell::NamespaceDeleted).await;
        handle.ended().await;
        if let Err(error) = self.store.delete(name).await {
            self.reopen(name).await?;
            return Err(error.into());
        }
        if let Some(held) = held {
            held.resign().await;
        }
        self.deleted.lock().insert(name.clone(), until);
        self.listing.remove(name);
        tracing::info!(namespace = %name, "namespace deleted");
        Ok(())
    }

    async fn reopen(&self, name: &Arc<str>) -> Result<(), Error> {
        if self.elector.is_some() {
            // Whoever is elected opens it.
            return Ok(());
        }
        let records = self.store.namespaces().await?;
        if let Some(record) = records.into_iter().find(|record| record.name == *name) {
            let stored = self.store.load(name).await?;
            self.open(&record, stored, Origin::Durable).await?;
        }
        Ok(())
    }

    /// The namespace of that name, if it is led here.
    pub fn get(&self, name: &str) -> Option<Arc<NamespaceHandle>> {
        self.led.read().get(name).cloned()
    }

    /// Every namespace that is led here, in order of name.
    pub fn all(&self) -> Vec<Arc<NamespaceHandle>> {
        self.led.read().values().cloned().collect()
    }

    /// Ends every driver and waits for them.
    pub async fn close(&self) {
        for handle in self.all() {
            handle.close(Farewell::ServerLeaving).await;
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn open(
        &self,
        record: &NamespaceRecord,
        stored: Stored,
        origin: Origin,
    ) -> Result<(), Error> {
        let epoch = self.store.lead(&record.name).await?;
        let won = Won { epoch, confidence: Confidence::unlimited() };
        self.drive(record, stored, Start::Cold(origin), won)
    }

    /// Leads a namespace that was won, from its records.
    ///
    /// # Errors
    /// They cannot be read, or do not fit this version.
    pub async fn take(&self, name: &Arc<str>, won: Won, start: Start) -> Result<(), Error> {
        // Now that the epoch is this server's, nobody changes them any more.
        let (records, stored) =
            futures::future::try_join(self.store.namespaces(), self.store.load(name)).await?;
        let missing = || StoreError::NotFound { namespace: name.clone() };
        let record = records.into_iter().find(|it| it.name == *name).ok_or_else(missing)?;
        self.drive(&record, stored, start, won)
    }

    fn drive(
        &self,
        record: &NamespaceRecord,
        stored: Stored,
        start: Start,
        won: Won,
    ) -> Result<(), Error> {
        let listed = self.listing.add(record);
        let event = self.led_event(&start, &won);
        let (namespace, history) = self.machine(record, stored, start)?;
        let pacing = Pacing::of(&namespace);
        let around = self.surroundings(record, won);
        let (driver, handle) = Driver::new(namespace, listed.board.clone(), around, pacing);
        let handle = Arc::new(handle);
        handle.history.continues(history);
        if let Some(event) = event {
            self.metrics.of_namespace(&record.name).count(event.what);
            handle.history.push(event);
        }
        self.led.write().insert(record.name.clone(), handle.clone());
        self.tasks.spawn(Run { driver, handle, listed }.watch_over(Ended {
            led: self.led.clone(),
            listing: self.listing.clone(),
            metrics: self.metrics.clone(),
            elector: self.elector.clone(),
        }));
        Ok(())
    }

    /// For the history; a server that is alone has nothing to tell.
    fn led_event(&self, start: &Start, won: &Won) -> Option<Event> {
        let how = match start {
            Start::Warm { .. } => "with all that the last leader knew",
            Start::Cold(Origin::New) => "it was made a moment ago",
            Start::Cold(_) => "from the records: executors get a full lease to be heard",
        };
        let elector = self.elector.as_ref()?;
        Some(Event {
            at: self.clock.now(),
            what: What::Led,
            shard: None,
            executor: None,
            generation: 0,
            detail: format!("by {} in epoch {}, {how}", elector.me, won.epoch).into(),
        })
    }

    fn machine(
        &self,
        record: &NamespaceRecord,
        stored: Stored,
        start: Start,
    ) -> Result<(Namespace, Vec<v1::Event>), settings::Error> {
        let (now, epoch_ms) = (self.clock.now(), self.clock.epoch_ms());
        Ok(match start {
            Start::Warm { state, history } => {
                (Namespace::take_over(now, epoch_ms, record, stored, *state)?, history)
            }
            Start::Cold(origin) => {
                (Namespace::new(now, epoch_ms, record, stored, origin)?, Vec::new())
            }
        })
    }

    fn surroundings(&self, record: &NamespaceRecord, won: Won) -> Surroundings {
        Surroundings {
            clock: self.clock,
            store: self.store.clone(),
            epoch: won.epoch,
            confidence: won.confidence,
            commit_within: self.elector.is_some().then_some(COMMIT_WITHIN),
            metrics: self.metrics.of_namespace(&record.name),
        }
    }
}
