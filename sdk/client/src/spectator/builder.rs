//! How a spectator is configured and brought up.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::Spectator;
use super::asking::Servers;
use super::shared::Shared;
use super::watch::Watch;
use crate::dialer::Dialer;
use crate::{ConnectError, DEFAULT_SERVER, START_PATIENCE, Tls};

/// A server that sends nothing for so long is taken for dead: it sends a
/// keep-alive every 10 s.
const SILENCE: Duration = Duration::from_secs(25);

/// Longer than an executor takes to be missed and replaced, or to drain a shard.
const HOLD_WITHIN: Duration = Duration::from_secs(10);
const HOLD_AT_MOST: usize = 10_000;

/// What a spectator is started with. Only a server elsewhere than on this machine
/// must be named.
#[derive(Clone, Debug)]
pub struct SpectatorBuilder {
    namespace: String,
    servers: String,
    tls: Option<Tls>,
    silence: Duration,
    hold_within: Duration,
    hold_at_most: usize,
}

impl SpectatorBuilder {
    pub(super) fn new(namespace: String) -> Self {
        Self {
            namespace,
            servers: DEFAULT_SERVER.to_owned(),
            tls: None,
            silence: SILENCE,
            hold_within: HOLD_WITHIN,
            hold_at_most: HOLD_AT_MOST,
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

    /// How long a server may be silent before another one is asked: 25 s. It has
    /// something to say every 10 s.
    #[must_use]
    pub fn silence(mut self, limit: Duration) -> Self {
        self.silence = limit;
        self
    }

    /// How long [`Spectator::call`] and [`RouteLayer`](crate::RouteLayer) hold or
    /// try a request whose shard is in handover, from its beginning: 10 s.
    #[must_use]
    pub fn hold_within(mut self, limit: Duration) -> Self {
        self.hold_within = limit;
        self
    }

    /// How many requests may be held at a time, for all shards together: 10,000.
    /// One more fails at once.
    #[must_use]
    pub fn hold_at_most(mut self, limit: usize) -> Self {
        self.hold_at_most = limit;
        self
    }

    /// Watches the namespace and waits for the map. If no server sends it within
    /// 3 s it returns all the same and goes on trying.
    ///
    /// # Errors
    /// An address is not allowed, no server is to be trusted or trusts us, or the
    /// server refused: the namespace may not exist.
    pub async fn start(self) -> Result<Spectator, ConnectError> {
        let dialer = Dialer::new(&self.servers, self.tls.as_ref())?;
        let untrusted = dialer.untrusted();
        let servers = Servers::new(self.namespace.clone(), dialer.lazy_channels());
        let shared = Arc::new(Shared::new(self.namespace, self.hold_at_most));
        let watch = Watch::new(Arc::clone(&shared), self.silence).follow(dialer);
        let watch = Arc::new(AbortOnDropHandle::new(tokio::spawn(watch)));
        let (servers, hold_within) = (Arc::new(servers), self.hold_within);
        let spectator = Spectator { shared, servers, hold_within, _watch: watch };
        spectator.come_up(untrusted).await?;
        Ok(spectator)
    }
}

impl Spectator {
    async fn come_up(
        &self,
        untrusted: impl Future<Output = ConnectError>,
    ) -> Result<(), ConnectError> {
        tokio::select! {
            () = self.ready() => Ok(()),
            status = self.shared.refused() => {
                Err(ConnectError::refused(self.shared.namespace(), &status))
            }
            error = untrusted => Err(error),
            () = tokio::time::sleep(START_PATIENCE) => {
                tracing::warn!(patience = ?START_PATIENCE, "no server sends the map, trying on");
                Ok(())
            }
        }
    }
}
