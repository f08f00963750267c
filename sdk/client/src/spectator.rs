//! A process that needs to know who runs a shard.
//!
//! Lookups are answered from a map that a watch keeps up to date, also through
//! outages of the servers: see [`Spectator::age`]. Only a key that the map does
//! not know costs a call, which in an ephemeral namespace creates the shard.

mod asking;
mod builder;
mod call;
mod map;
mod owner;
mod shared;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_routing::RoutedExecutor;
use tokio_util::task::AbortOnDropHandle;

use asking::{Answer, Servers};
pub use builder::SpectatorBuilder;
pub use call::CallError;
#[cfg(feature = "tower")]
pub(crate) use call::Undelivered;
use map::Found;
pub use owner::{LookupError, Owner};
use shared::{Counters, Shared};

use crate::ConnectError;

/// Knows who runs which shard of one namespace. Clones share one map and watch,
/// which end with the last of them.
#[derive(Clone, Debug)]
pub struct Spectator {
    shared: Arc<Shared>,
    servers: Arc<Servers>,
    /// How long a request may be held.
    hold_within: Duration,
    _watch: Arc<AbortOnDropHandle<()>>,
}

/// How requests met with handovers: see [`Spectator::call`]. All but the first are
/// counted since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SpectatorStats {
    /// Requests that are held now.
    pub holding: u64,
    /// Answers that the shard is not there, and connections that were refused.
    pub refused: u64,
    /// Times that a request was held.
    pub held: u64,
    /// Requests that were given up, or were not held because too many were.
    pub gave_up: u64,
}

impl Spectator {
    /// A spectator of a namespace, to be configured and started.
    pub fn builder(namespace: impl Into<String>) -> SpectatorBuilder {
        SpectatorBuilder::new(namespace.into())
    }

    /// Watches a namespace. `servers` are their gRPC addresses, e.g.
    /// `http://127.0.0.1:7943`, several with commas between: any of them will do.
    /// Everything else as by default: see [`builder`](Self::builder), also for TLS.
    ///
    /// # Errors
    /// As [`SpectatorBuilder::start`].
    pub async fn connect(
        servers: &str,
        namespace: impl Into<String>,
    ) -> Result<Self, ConnectError> {
        Self::builder(namespace).connect(servers).start().await
    }

    /// Who runs the shard. Waits only if the map does not know it: then a server
    /// is asked, for at most 2 s, by one call for all who ask at the same time.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn lookup(&self, key: &str) -> Result<Owner, LookupError> {
        match self.find(key) {
            Found::Owner(owner) => Ok(owner),
            Found::Drained => Err(LookupError::Drained { shard: key.into() }),
            Found::Unknown => self.lookup_fresh(key).await,
        }
    }

    /// Who runs the shard, as far as the map knows at this instant. No wait, no
    /// call, no creation.
    pub fn try_lookup(&self, key: &str) -> Option<Owner> {
        match self.find(key) {
            Found::Owner(owner) => Some(owner),
            Found::Drained | Found::Unknown => None,
        }
    }

    /// Asks a server whatever the map says: for when the owner that it named
    /// answered that it is not.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn lookup_fresh(&self, key: &str) -> Result<Owner, LookupError> {
        let shared = Arc::clone(&self.shared);
        let keep = move |key: &Arc<str>, answer: &Answer| {
            if let Ok(owner) = answer {
                shared.remember(key, owner.clone());
            }
        };
        self.servers.ask(key, keep).await
    }

    fn find(&self, key: &str) -> Found {
        self.shared.read(|map, now| map.find(now, key))
    }

    /// How long ago the leader of the namespace last confirmed the map, also where
    /// another server sent it: about 10 s at most while all is well. Lookups go on
    /// whatever it is. `None` while there is no map.
    pub fn age(&self) -> Option<Duration> {
        self.shared.age()
    }

    /// The namespace that it watches.
    pub fn namespace(&self) -> &str {
        self.shared.namespace()
    }

    /// Counts of requests that met with a handover.
    pub fn stats(&self) -> SpectatorStats {
        let Counters { refused, held, gave_up } = &self.shared.counters;
        SpectatorStats {
            holding: self.shared.waiting.held() as u64,
            refused: refused.load(Ordering::Relaxed),
            held: held.load(Ordering::Relaxed),
            gave_up: gave_up.load(Ordering::Relaxed),
        }
    }

    /// Waits until there is a map.
    pub async fn ready(&self) {
        self.shared.loaded().await;
    }

    /// The revision of the map, to wait on: it is marked changed with every
    /// change. Revisions may start anew when servers do.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.shared.revisions()
    }

    /// Every executor that the map knows, in order of id.
    pub fn executors(&self) -> Vec<Arc<RoutedExecutor>> {
        self.shared.read(|map, _| map.table().executors().cloned().collect())
    }

    /// How many shards have an owner.
    pub fn len(&self) -> usize {
        self.shared.read(|map, _| map.table().len())
    }

    /// Whether no shard has an owner.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
