//! How an executor is configured and brought up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::VERSION_LABEL;
use plimsoll_ownership::capacity::CAPACITY_LABEL;
use plimsoll_ownership::holder::{Finish, Settings};
use tokio_util::task::AbortOnDropHandle;

use super::driver::Driver;
use super::identity::Identity;
use super::shared::{Progress, Shared};
use super::{Executor, WaysOut, doors};
use crate::dialer::Dialer;
use crate::{ADDRESS_KEY, ConnectError, DEFAULT_SERVER, START_PATIENCE, Shards, Tls};

/// Longer than a shard that was prepared takes to start.
const HOLD_WITHIN: Duration = Duration::from_secs(1);
const HOLD_AT_MOST: usize = 10_000;
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

/// What an executor is started with. Only a server elsewhere than on this machine
/// must be named.
#[derive(Debug)]
pub struct ExecutorBuilder<S> {
    namespace: String,
    shards: S,
    servers: String,
    tls: Option<Tls>,
    id: Option<String>,
    host: Option<String>,
    metadata: BTreeMap<String, String>,
    ways_out: WaysOut,
    doors: doors::Limits,
    drain_within: Duration,
}

impl<S: Shards> ExecutorBuilder<S> {
    pub(super) fn new(namespace: String, shards: S) -> Self {
        let ten_seconds = Duration::from_secs(10);
        Self {
            namespace,
            shards,
            servers: DEFAULT_SERVER.to_owned(),
            tls: None,
            id: None,
            host: None,
            metadata: BTreeMap::new(),
            ways_out: WaysOut { leave: ten_seconds, goodbye: ten_seconds, returning: false },
            doors: doors::Limits { hold_within: HOLD_WITHIN, hold_at_most: HOLD_AT_MOST },
            drain_within: DRAIN_WITHIN,
        }
    }

    /// The servers' gRPC addresses, e.g. `http://127.0.0.1:7943` (the default),
    /// several with commas between: any of them will do.
    #[must_use]
    pub fn connect(mut self, servers: impl Into<String>) -> Self {
        self.servers = servers.into();
        self
    }

    /// Whom to trust at `https://` addresses, which addresses without a scheme are
    /// then; `http://` is refused.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Where this process answers requests for its shards: published as metadata
    /// `grpc_address`, for [`Owner::address`](crate::Owner::address).
    #[must_use]
    pub fn address(self, address: impl Into<String>) -> Self {
        self.metadata(ADDRESS_KEY, address)
    }

    /// The machine as drains name it, at most 128 bytes without `/` and `@`.
    /// By default its hostname, made to fit.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// At most 256 bytes without `/`, and different for every process: a second
    /// one with the same id replaces the first. By default `<host>@<random>`.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// How much this process can carry beside the others, 0.001 to 1000: one with 2
    /// is given twice the load of one with 1, which is the default. Published as
    /// metadata `plimsoll.capacity`; the setting `host_capacities` of the namespace
    /// overrides it.
    #[must_use]
    pub fn capacity(self, capacity: f64) -> Self {
        self.metadata(CAPACITY_LABEL, capacity.to_string())
    }

    /// Which version of the program this is: while there are several, as in a rolling
    /// upgrade, shards that must move go to executors of the one that came last, as
    /// far as their share. Published as metadata `plimsoll.version`.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.metadata(VERSION_LABEL, version)
    }

    /// Something else that spectators can see of this executor.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// How long [`Executor::leave`] waits for others to take the shards: 10 s.
    #[must_use]
    pub fn leave_within(mut self, limit: Duration) -> Self {
        self.ways_out.leave = limit;
        self
    }

    /// How long the goodbye of [`Executor::shutdown`] may take: 10 s.
    #[must_use]
    pub fn goodbye_within(mut self, limit: Duration) -> Self {
        self.ways_out.goodbye = limit;
        self
    }

    /// Whether another process with the same `id` comes back after
    /// [`Executor::shutdown`], as after an upgrade: then the shards stop and are kept
    /// for it, for the namespace's setting `restart_grace`, instead of being given to
    /// others; `stop` is called and no state is passed. With that setting at 0 they are given to others at once. By default
    /// nobody comes back.
    #[must_use]
    pub fn returning(mut self, returning: bool) -> Self {
        self.ways_out.returning = returning;
        self
    }

    /// How long requests that [`Executor::serve`] let in may delay the stop of a shard
    /// that moves: 5 s.
    #[must_use]
    pub fn drain_within(mut self, limit: Duration) -> Self {
        self.drain_within = limit;
        self
    }

    /// How long [`Executor::serve`] holds a request for a shard that is about to run
    /// here: 1 s.
    #[must_use]
    pub fn hold_within(mut self, limit: Duration) -> Self {
        self.doors.hold_within = limit;
        self
    }

    /// How many requests [`Executor::serve`] may hold at a time: 10,000. One more is
    /// told at once that the shard is not here.
    #[must_use]
    pub fn hold_at_most(mut self, limit: usize) -> Self {
        self.doors.hold_at_most = limit;
        self
    }

    /// Brings the executor up and waits for a server's welcome. If no server
    /// answers within 3 s it returns all the same and goes on trying: a service
    /// can come up while the servers are away.
    ///
    /// # Errors
    /// A name or address is not allowed, no server is to be trusted or trusts us,
    /// or the server refused: the namespace may not exist.
    pub async fn start(self) -> Result<Executor, ConnectError> {
        let identity = Identity::new(self.namespace, self.id, self.host)?;
        let dialer = Dialer::new(&self.servers, self.tls.as_ref())?;
        let untrusted = dialer.untrusted();
        let shared = Shared::new(identity, self.metadata, Settings::default(), self.doors);
        let shared = Arc::new(shared);
        let (drain_within, returning) = (self.drain_within, self.ways_out.returning);
        let driver =
            Driver::new(Arc::clone(&shared), self.shards, dialer, drain_within, returning)?;
        let driver = Arc::new(AbortOnDropHandle::new(tokio::spawn(driver.run())));
        let executor = Executor { shared, _driver: driver, ways_out: self.ways_out };
        executor.come_up(untrusted).await?;
        executor.shared.note(|progress| progress.came_up = true);
        Ok(executor)
    }
}

impl Executor {
    async fn come_up(
        &self,
        untrusted: impl Future<Output = ConnectError>,
    ) -> Result<(), ConnectError> {
        let decided = self.shared.until(|progress| {
            progress.welcomed || progress.refused.is_some() || progress.finished.is_some()
        });
        tokio::select! {
            progress = decided => self.outcome(progress),
            error = untrusted => Err(error),
            () = tokio::time::sleep(START_PATIENCE) => {
                tracing::warn!(patience = ?START_PATIENCE, "no server answers yet, trying on");
                Ok(())
            }
        }
    }

    fn outcome(&self, progress: Progress) -> Result<(), ConnectError> {
        let identity = &self.shared.identity;
        if progress.finished == Some(Finish::Replaced) {
            return Err(ConnectError::Replaced { id: identity.id.clone() });
        }
        match progress.refused {
            Some(status) if !progress.welcomed => {
                Err(ConnectError::refused(&identity.namespace, &status))
            }
            _ => Ok(()),
        }
    }
}
