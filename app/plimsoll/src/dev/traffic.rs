//! A spectator that sends requests along the map and counts how they fare.
//!
//! Open loop: a request is sent when it is due, however long the others take.
//! One that meets the wrong owner asks again; one that finds nobody in time has
//! failed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use parking_lot::Mutex;
use plimsoll_client::{Owner, Spectator};
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_wire::sharddistributor::PingRequest;
use plimsoll_wire::sharddistributor::shard_distributor_executor_canary_api_client::ShardDistributorExecutorCanaryApiClient as Pinger;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::task::TaskTracker;
use tonic::transport::{Channel, Endpoint};

use super::cluster::Cluster;

/// A request that nobody has served by then has failed.
const PATIENCE: Duration = Duration::from_secs(2);
/// The wait before a request that met the wrong owner asks again.
const AGAIN: Duration = Duration::from_millis(2);

/// How requests have fared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) wrong_owner: u64,
    pub(super) failed: u64,
}

/// The requests on their way.
pub(super) struct Traffic {
    sender: Arc<Sender>,
    clock: JoinHandle<()>,
    under_way: TaskTracker,
}

struct Sender {
    namespace: String,
    spectator: Spectator,
    channels: Mutex<HashMap<String, Channel>>,
    requests: AtomicU64,
    wrong_owner: AtomicU64,
    failed: AtomicU64,
}

impl Traffic {
    /// Starts sending to random shards.
    pub(super) async fn start(
        cluster: &Cluster,
        snapshot: &Snapshot,
        rate: u32,
        seed: u64,
    ) -> Result<Self> {
        let spectator = Spectator::connect(&cluster.url(), &*cluster.namespace).await?;
        timeout(PATIENCE, spectator.ready()).await.context("the map did not come")?;
        let sender = Arc::new(Sender {
            namespace: cluster.namespace.clone(),
            spectator,
            channels: Mutex::default(),
            requests: AtomicU64::new(0),
            wrong_owner: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        let under_way = TaskTracker::new();
        let keys = snapshot.shards.iter().map(|shard| shard.key.clone()).collect();
        let clock = tokio::spawn(send_in_time(sender.clone(), under_way.clone(), keys, rate, seed));
        Ok(Self { sender, clock, under_way })
    }

    /// What reads the tally.
    pub(super) fn reader(&self) -> impl Fn() -> Tally + Send + Sync + 'static {
        let sender = self.sender.clone();
        move || sender.tally()
    }

    /// Sends no more and waits for what is under way.
    pub(super) async fn stop(self) {
        self.clock.abort();
        self.under_way.close();
        self.under_way.wait().await;
    }
}

async fn send_in_time(
    sender: Arc<Sender>,
    under_way: TaskTracker,
    keys: Vec<String>,
    rate: u32,
    seed: u64,
) {
    if keys.is_empty() {
        return;
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut due = interval(Duration::from_secs(1) / rate);
    due.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        due.tick().await;
        let key = keys[random.random_range(0..keys.len())].clone();
        let sender = sender.clone();
        under_way.spawn(async move { sender.request(&key).await });
    }
}

impl Sender {
    fn tally(&self) -> Tally {
        Tally {
            requests: self.requests.load(Ordering::Relaxed),
            wrong_owner: self.wrong_owner.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }

    async fn request(&self, key: &str) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        while !self.attempt(key).await {
            if begun.elapsed() > PATIENCE {
                self.failed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            sleep(AGAIN).await;
        }
    }

    /// One try along the map; false if it must be made again.
    async fn attempt(&self, key: &str) -> bool {
        let Ok(owner) = self.spectator.lookup(key).await else { return false };
        match self.ping(&owner, key).await {
            Ok(true) => true,
            Ok(false) => {
                self.wrong_owner.fetch_add(1, Ordering::Relaxed);
                false
            }
            Err(error) => {
                tracing::debug!(key, %error, "ping failed");
                false
            }
        }
    }

    async fn ping(&self, owner: &Owner, key: &str) -> Result<bool> {
        let address = owner.address().context("the owner publishes no address")?;
        let mut pinger = Pinger::new(self.channel(address)?);
        let (shard_key, namespace) = (key.to_owned(), self.namespace.clone());
        let pong = pinger.ping(PingRequest { shard_key, namespace });
        Ok(timeout(PATIENCE, pong).await??.into_inner().owns_shard)
    }

    fn channel(&self, address: &str) -> Result<Channel> {
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(address) {
            return Ok(channel.clone());
        }
        let channel = Endpoint::from_shared(address.to_owned())?.tcp_nodelay(true).connect_lazy();
        channels.insert(address.to_owned(), channel.clone());
        Ok(channel)
    }
}
