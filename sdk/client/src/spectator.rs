//! A process that needs to know who runs a shard.
//!
//! Lookups are answered from a map that a watch keeps up to date, also through
//! outages of the servers: see [`Spectator::age`]. Only a key that the map does
//! not know costs a call, which in an ephemeral namespace creates the shard.

mod asking;
mod map;
mod owner;
mod shared;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_routing::RoutedExecutor;
use tokio_util::task::AbortOnDropHandle;

use asking::{Answer, Servers};
use map::Found;
pub use owner::{LookupError, Owner};
use shared::Shared;
use watch::Watch;

use crate::dialer::Dialer;
use crate::{ConnectError, START_PATIENCE};

/// A server that sends nothing for so long is taken for dead: it sends a
/// keep-alive every 10 s.
const SILENCE: Duration = Duration::from_secs(25);

/// Knows who runs which shard of one namespace. Clones share one map and watch,
/// which end with the last of them.
#[derive(Clone, Debug)]
pub struct Spectator {
    shared: Arc<Shared>,
    servers: Arc<Servers>,
    _watch: Arc<AbortOnDropHandle<()>>,
}

impl Spectator {
    /// Watches a namespace. `servers` are their gRPC addresses, e.g.
    /// `http://127.0.0.1:7943`, several with commas between: any of them will do.
    /// Waits for the map; if no server sends it within 3 s it returns all the
    /// same and goes on trying.
    ///
    /// # Errors
    /// An address is not allowed, or the server refused: the namespace may not
    /// exist.
    pub async fn connect(
        servers: &str,
        namespace: impl Into<String>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(servers, namespace, SILENCE).await
    }

    /// As `connect`, with another limit than 25 s for the silence of a server.
    ///
    /// # Errors
    /// As `connect`.
    pub async fn connect_with(
        servers: &str,
        namespace: impl Into<String>,
        silence: Duration,
    ) -> Result<Self, ConnectError> {
        let namespace = namespace.into();
        let dialer = Dialer::new(servers)?;
        let servers = Arc::new(Servers::new(namespace.clone(), dialer.lazy_channels()));
        let shared = Arc::new(Shared::new(namespace));
        let watch = Watch::new(Arc::clone(&shared), silence).follow(dialer);
        let watch = Arc::new(AbortOnDropHandle::new(tokio::spawn(watch)));
        let spectator = Self { shared, servers, _watch: watch };
        spectator.come_up().await?;
        Ok(spectator)
    }

    async fn come_up(&self) -> Result<(), ConnectError> {
        tokio::select! {
            () = self.ready() => Ok(()),
            status = self.shared.refused() => {
                Err(ConnectError::refused(self.shared.namespace(), &status))
            }
            () = tokio::time::sleep(START_PATIENCE) => {
                tracing::warn!(patience = ?START_PATIENCE, "no server sends the map, trying on");
                Ok(())
            }
        }
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
                let (key, owner) = (Arc::clone(key), owner.clone());
                shared.write(|map, now| map.remember(now, key, owner));
            }
        };
        self.servers.ask(key, keep).await
    }

    fn find(&self, key: &str) -> Found {
        self.shared.read(|map, now| map.find(now, key))
    }

    /// How long ago a server last confirmed the map: about 10 s at most while all
    /// is well. `None` while there is no map.
    pub fn age(&self) -> Option<Duration> {
        self.shared.read(|map, now| map.table().age(now))
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
