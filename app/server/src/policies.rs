//! Policies of services: kept in the store, changed by compare-and-set, told to the
//! instances that are connected to this server, with what those see lately.
//!
//! No server leads a service. A save goes straight to the store, whoever takes it, and
//! every server hears of it from the store's watch and tells its own instances. What
//! instances see stays in the memory of the server that they are connected to; who asks
//! is answered from all servers. What a text means, and what it would have done, is
//! decided in `core/shedding`.

mod checks;
mod connection;
mod edit;
mod fault;
pub mod json;
mod known;
mod look;
mod others;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures::StreamExt;
use parking_lot::RwLock;
use plimsoll_shedding::traffic::SLICE;
use plimsoll_store::{NewestPolicies, Store};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::leadership::Servers;
use crate::metrics::PolicyMetrics;

pub use connection::Connection;
pub use fault::{Fault, LINE, PRESENT};
pub use known::Held;
use known::Known;

/// How often an instance says what it has seen.
pub const OBSERVE_EVERY: Duration = SLICE;
/// Services that have instances here, or had some in the last ten minutes.
const MAX_SERVICES: usize = 2000;
/// Bytes that all that instances have seen may take.
const MAX_OBSERVED_BYTES: usize = 64 * 1024 * 1024;
/// Between two tries to read a policy while the store is away.
const PAUSE: Duration = Duration::from_millis(200);

/// The policies of all services.
#[derive(Debug)]
pub struct Policies {
    store: Arc<dyn Store>,
    clock: Clock,
    metrics: PolicyMetrics,
    max_instances: usize,
    /// `None`: this server is alone.
    servers: Option<Arc<Servers>>,
    /// The newest revisions, as the store has told of them.
    newest: RwLock<NewestPolicies>,
    /// Services that have instances here, or had some a while ago.
    known: RwLock<BTreeMap<Arc<str>, Arc<Known>>>,
    instances: AtomicUsize,
    observed_bytes: AtomicUsize,
}

impl Policies {
    /// Follows the store until `end`.
    pub fn start(
        store: Arc<dyn Store>,
        clock: Clock,
        metrics: PolicyMetrics,
        max_instances: usize,
        servers: Option<Arc<Servers>>,
        end: &CancellationToken,
    ) -> Arc<Self> {
        let policies = Arc::new(Self {
            store,
            clock,
            metrics,
            max_instances,
            servers,
            newest: RwLock::default(),
            known: RwLock::default(),
            instances: AtomicUsize::new(0),
            observed_bytes: AtomicUsize::new(0),
        });
        let (following, end) = (policies.clone(), end.clone());
        tokio::spawn(async move { end.run_until_cancelled(following.follow()).await });
        policies
    }

    async fn follow(self: Arc<Self>) {
        let mut watch = self.store.watch_policies();
        let mut sweep = tokio::time::interval(SLICE);
        loop {
            tokio::select! {
                newest = watch.next() => match newest {
                    Some(newest) => self.heard(&newest),
                    None => return,
                },
                _ = sweep.tick() => self.sweep(),
            }
        }
    }

    /// What instances here follow is read anew if it has changed.
    fn heard(self: &Arc<Self>, newest: &NewestPolicies) {
        self.metrics.services(newest.len());
        *self.newest.write() = newest.clone();
        for known in self.known.read().values() {
            let revision = newest.get(&known.name).map_or(0, |head| head.revision);
            if known.holds().is_some_and(|held| held != revision) {
                tokio::spawn(self.clone().read(known.clone()));
            }
        }
    }

    /// Until the store answers: an instance waits for it, with the policy that it has.
    async fn read(self: Arc<Self>, known: Arc<Known>) {
        let mut is_told = false;
        loop {
            match self.store.policy(&known.name, None).await {
                Ok(record) => return known.hold(record),
                Err(error) if !is_told => {
                    tracing::warn!(service = %known.name, %error, "a policy cannot be read: it is tried again");
                    is_told = true;
                }
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Forgets what is older than ten minutes, and who has not been seen since.
    fn sweep(&self) {
        let now = wire::slice_at(self.clock.wall_ms());
        let mut known = self.known.write();
        known.retain(|_, service| {
            self.count_observed(|| service.expire(now));
            !service.is_idle(Arc::strong_count(service))
        });
    }

    /// The services that are known here, by name.
    fn known(&self) -> Vec<Arc<Known>> {
        self.known.read().values().cloned().collect()
    }
}
