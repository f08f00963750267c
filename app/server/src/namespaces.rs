//! Every namespace that this server leads, and how they come and go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use plimsoll_ownership::action::Farewell;
use plimsoll_ownership::namespace::{Namespace, Origin};
use plimsoll_ownership::record::{GrantRecord, Kind, NamespaceRecord, Stored, Write};
use plimsoll_ownership::settings::{self, Settings};
use plimsoll_placement::time::Time;
use plimsoll_store::{Error as StoreError, Store};
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::driver::{Driver, End, NamespaceHandle, Surroundings};
use crate::metrics::Metrics;

/// The longest name, in bytes.
const MAX_NAME: usize = 128;
/// The longest executor id, in bytes.
pub(crate) const MAX_EXECUTOR_ID: usize = 256;
/// More shards than this are more than one server can hold.
const MAX_SHARDS: u64 = 2_000_000;

/// Every namespace of this server.
#[derive(Debug)]
pub struct Namespaces {
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
}

type Led = Arc<RwLock<BTreeMap<Arc<str>, Arc<NamespaceHandle>>>>;

/// A namespace to be made.
#[derive(Clone, Debug, Default)]
pub struct NewNamespace {
    pub name: String,
    /// `fixed` or `ephemeral`.
    pub kind: String,
    pub shards: u64,
    pub settings: Vec<(String, String)>,
    /// Owners to begin with: shard key and executor id.
    pub grants: Vec<(String, String)>,
    pub frozen: bool,
}

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
    /// cannot.
    pub fn new(store: Arc<dyn Store>, remembers: bool, clock: Clock, metrics: Metrics) -> Self {
        Self {
            led: Led::default(),
            changes: tokio::sync::Mutex::default(),
            deleted: Mutex::default(),
            store,
            remembers,
            clock,
            metrics,
            tasks: TaskTracker::new(),
        }
    }

    /// Opens every namespace that the store has.
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

    /// Makes a namespace unless there is one of that name. If the store may have
    /// forgotten it, executors are asked what they run.
    ///
    /// # Errors
    /// As [`Namespaces::create`].
    pub async fn ensure(&self, new: &NewNamespace) -> Result<(), Error> {
        // A mistake is one also where what is stored wins.
        let record = new.record()?;
        if let Some(stored) = self.get(&new.name) {
            if stored.kind != record.kind {
                tracing::warn!(namespace = %new.name, stored = ?stored.kind, configured = ?record.kind, "the configuration differs from what is stored, which wins");
            }
            return Ok(());
        }
        let origin = if self.remembers { Origin::New } else { Origin::Forgetful };
        self.make(new, origin).await
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
        self.open(&record, stored, origin).await?;
        tracing::info!(namespace = %record.name, kind = %new.kind, shards = new.shards, "namespace created");
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
        handle.close(Farewell::NamespaceDeleted).await;
        handle.ended().await;
        if let Err(error) = self.store.delete(name).await {
            self.reopen(name).await?;
            return Err(error.into());
        }
        self.deleted.lock().insert(name.clone(), until);
        tracing::info!(namespace = %name, "namespace deleted");
        Ok(())
    }

    async fn reopen(&self, name: &Arc<str>) -> Result<(), Error> {
        let records = self.store.namespaces().await?;
        if let Some(record) = records.into_iter().find(|record| record.name == *name) {
            let stored = self.store.load(name).await?;
            self.open(&record, stored, Origin::Durable).await?;
        }
        Ok(())
    }

    /// The namespace of that name.
    pub fn get(&self, name: &str) -> Option<Arc<NamespaceHandle>> {
        self.led.read().get(name).cloned()
    }

    /// Every namespace, in order of name.
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
        let now = self.clock.now();
        let namespace = Namespace::new(now, self.clock.epoch_ms(), record, stored, origin)?;
        let (store, clock) = (self.store.clone(), self.clock);
        let metrics = self.metrics.of_namespace(&record.name);
        let around = Surroundings { clock, store, epoch, metrics: metrics.clone() };
        let (driver, handle) = Driver::new(namespace, around);
        let (led, handle) = (self.led.clone(), Arc::new(handle));
        led.write().insert(record.name.clone(), handle.clone());
        let name = record.name.clone();
        self.tasks.spawn(async move {
            let end = driver.run().await;
            led.write().retain(|_, other| !Arc::ptr_eq(other, &handle));
            metrics.forget();
            if let End::Lost(error) = end {
                tracing::error!(namespace = %name, %error, "namespace lost");
            }
        });
        Ok(())
    }
}

impl From<&crate::config::Namespace> for NewNamespace {
    fn from(namespace: &crate::config::Namespace) -> Self {
        Self {
            name: namespace.name.clone(),
            kind: namespace.kind.clone(),
            shards: namespace.shards,
            settings: namespace.flat_settings(),
            grants: Vec::new(),
            frozen: false,
        }
    }
}

impl NewNamespace {
    fn record(&self) -> Result<NamespaceRecord, Error> {
        let entries = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings = Settings::from_entries(entries)?;
        let text = |(name, value): (&str, String)| (name.to_owned(), value);
        Ok(NamespaceRecord {
            name: self.checked_name()?,
            kind: self.checked_kind()?,
            settings: settings.changed_entries().into_iter().map(text).collect(),
            frozen: self.frozen,
        })
    }

    fn checked_name(&self) -> Result<Arc<str>, Error> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fits = self.name.len() <= MAX_NAME && self.name.contains(|c: char| c != '.');
        if fits && self.name.chars().all(allowed) {
            return Ok(Arc::from(self.name.as_str()));
        }
        Err(Error::Name(self.name.clone()))
    }

    fn checked_kind(&self) -> Result<Kind, Error> {
        match (self.kind.as_str(), self.shards) {
            ("fixed", n) if (1..=MAX_SHARDS).contains(&n) => {
                u32::try_from(n).map(|shards| Kind::Fixed { shards }).map_err(|_| Error::Shards(n))
            }
            ("fixed", n) => Err(Error::Shards(n)),
            ("ephemeral", 0) => Ok(Kind::Ephemeral),
            ("ephemeral", _) => Err(Error::ShardsOfEphemeral),
            (other, _) => Err(Error::Type(other.to_owned())),
        }
    }

    /// The first owners, as writes and as what the store then holds.
    fn first_records(&self, kind: Kind, generation: u64) -> Result<(Vec<Write>, Stored), Error> {
        let mut grants = BTreeMap::new();
        for (shard, executor) in &self.grants {
            if !is_shard(kind, shard) || !is_executor_id(executor) {
                return Err(Error::Grant(shard.clone()));
            }
            let grant = GrantRecord { executor: Arc::from(executor.as_str()), generation };
            grants.insert(Arc::from(shard.as_str()), grant);
        }
        let grants: Vec<(Arc<str>, GrantRecord)> = grants.into_iter().collect();
        let write = |(shard, grant): &(Arc<str>, GrantRecord)| Write::Grant {
            shard: shard.clone(),
            grant: grant.clone(),
        };
        let mut writes: Vec<_> = grants.iter().map(write).collect();
        writes.push(Write::GenerationFloor(generation));
        Ok((writes, Stored { grants, generation_floor: generation, ..Stored::default() }))
    }
}

fn is_shard(kind: Kind, key: &str) -> bool {
    match kind {
        Kind::Ephemeral => key.len() <= plimsoll_ownership::namespace::MAX_KEY_BYTES,
        Kind::Fixed { shards } => {
            key.parse().is_ok_and(|n: u32| n < shards && n.to_string() == key)
        }
    }
}

/// As a hello or a heartbeat would have to give it.
fn is_executor_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_EXECUTOR_ID && !id.contains('/')
}
