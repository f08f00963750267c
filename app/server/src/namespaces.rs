//! Every namespace that this server leads, and how they come and go.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use plimsoll_ownership::action::Farewell;
use plimsoll_ownership::namespace::{Namespace, Origin};
use plimsoll_ownership::record::{GrantRecord, Kind, NamespaceRecord, Stored, Write};
use plimsoll_ownership::settings::{self, Settings};
use plimsoll_store::{Error as StoreError, Store};
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::driver::{Driver, End, NamespaceHandle, Surroundings};
use crate::metrics::Metrics;

/// The longest name, in bytes.
const MAX_NAME: usize = 128;
/// More shards than this are more than one server can hold.
const MAX_SHARDS: u64 = 10_000_000;

/// Every namespace of this server.
#[derive(Debug)]
pub struct Namespaces {
    led: RwLock<BTreeMap<Arc<str>, Arc<NamespaceHandle>>>,
    store: Arc<dyn Store>,
    clock: Clock,
    metrics: Metrics,
    tasks: TaskTracker,
}

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
    #[error("{0:?} is not a shard of this namespace")]
    Grant(String),
    #[error(transparent)]
    Settings(#[from] settings::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Namespaces {
    /// A server without namespaces.
    pub fn new(store: Arc<dyn Store>, clock: Clock, metrics: Metrics) -> Self {
        Self { led: RwLock::default(), store, clock, metrics, tasks: TaskTracker::new() }
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

    /// Makes a namespace unless there is one of that name. A store that forgets
    /// may have known it: then executors are asked what they run.
    ///
    /// # Errors
    /// As [`Namespaces::create`].
    pub async fn ensure(&self, new: &NewNamespace) -> Result<(), Error> {
        if self.get(&new.name).is_some() {
            return Ok(());
        }
        let origin = if self.store.is_durable() { Origin::New } else { Origin::Forgetful };
        self.make(new, origin).await
    }

    /// Makes a namespace.
    ///
    /// # Errors
    /// A bad name, type, setting or grant, or there is one already.
    pub async fn create(&self, new: &NewNamespace) -> Result<(), Error> {
        self.make(new, Origin::New).await
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

    /// Deletes a namespace and everything of it. Its executors are told to stop.
    ///
    /// # Errors
    /// There is none of that name, or the store is in trouble.
    pub async fn delete(&self, name: &str) -> Result<(), Error> {
        self.store.delete(name).await?;
        let led = self.led.write().remove(name);
        if let Some(handle) = led {
            handle.close(Farewell::NamespaceDeleted).await;
        }
        tracing::info!(namespace = name, "namespace deleted");
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
        self.led.write().insert(record.name.clone(), Arc::new(handle));
        let name = record.name.clone();
        self.tasks.spawn(async move {
            let end = driver.run().await;
            metrics.forget();
            if let End::Lost(error) = end {
                tracing::error!(namespace = %name, %error, "namespace lost");
            }
        });
        Ok(())
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
        let fits = !self.name.is_empty() && self.name.len() <= MAX_NAME;
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
            if !is_shard(kind, shard) || executor.is_empty() {
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
