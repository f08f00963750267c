//! The service: a counter a shard, which is handed over with the shard, and is on
//! no host while it is on its way.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use plimsoll_client::{BoxError, Contact, Executor, MOVED_TO, NotHere, Shard, Shards};
use plimsoll_server::clock::Clock;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::setup::Began;

/// How long shards may be on their way, and how often they are looked for.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(1);

/// Counts by shard, of the shards that are here.
pub(super) type Counts = Arc<Mutex<BTreeMap<String, u64>>>;

/// One process of the service, as far as it shares nothing with the others.
pub(super) struct Host {
    executor: Executor,
    counts: Counts,
    over: CancellationToken,
    serving: JoinHandle<()>,
}

/// What every host is started with.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) url: String,
    pub(super) namespace: String,
    pub(super) work: Duration,
    pub(super) clock: Clock,
    pub(super) began: mpsc::UnboundedSender<Began>,
    /// Stands for a disk that outlives the processes: they come back to it.
    pub(super) disk: Option<Counts>,
}

impl Host {
    pub(super) async fn start(plan: &Plan, id: &str, version: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port")?;
        let address = format!("http://{}", listener.local_addr()?);
        let counts = Counts::default();
        let shards = Counting {
            counts: counts.clone(),
            clock: plan.clock,
            began: plan.began.clone(),
            disk: plan.disk.clone(),
        };
        let executor = Executor::builder(&plan.namespace, shards)
            .connect(&plan.url)
            .address(address)
            .id(id)
            .host(id)
            .version(version)
            .returning(plan.disk.is_some())
            .start()
            .await
            .with_context(|| format!("executor {id} did not start"))?;
        let over = CancellationToken::new();
        let front = Front { executor: executor.clone(), counts: counts.clone(), work: plan.work };
        let service = Router::new().route("/{shard}", post(count)).with_state(front);
        let serving = axum::serve(listener, service)
            .with_graceful_shutdown(over.clone().cancelled_owned())
            .into_future();
        // What goes wrong in it shows as requests that fail.
        let serving = tokio::spawn(async move { drop(serving.await) });
        Ok(Self { executor, counts, over, serving })
    }

    fn counted(&self) -> u64 {
        self.counts.lock().values().sum()
    }

    /// How many shards run here.
    pub(super) fn shards(&self) -> usize {
        self.executor.shards().len()
    }

    /// Waits until it stands so with the servers.
    pub(super) async fn until(&self, wanted: Contact) -> Result<()> {
        self.executor.contact().wait_for(|contact| *contact == wanted).await?;
        Ok(())
    }

    /// Hands over, answers a little longer, and is gone.
    pub(super) async fn stop(self, linger: Duration) -> Result<()> {
        self.executor.shutdown().await?;
        tokio::time::sleep(linger).await;
        self.over.cancel();
        self.serving.await.context("the service of a host ended badly")
    }
}

/// What is counted on all hosts, as of a moment at which each of so many shards ran
/// on one of them.
pub(super) async fn counted_at_rest(hosts: &[Host], shards: u64) -> Result<u64> {
    let look = async {
        loop {
            if let Some(counted) = counted_if_at_rest(hosts, shards) {
                return counted;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    timeout(PATIENCE, look).await.context("some shards run nowhere")
}

/// A shard that runs under the same grant before and after has been there all the
/// time, and its count with it.
fn counted_if_at_rest(hosts: &[Host], shards: u64) -> Option<u64> {
    let before = running(hosts);
    let counted = hosts.iter().map(Host::counted).sum();
    let all: usize = before.iter().map(Vec::len).sum();
    (all as u64 == shards && before == running(hosts)).then_some(counted)
}

/// What runs on each host, and under which generations.
fn running(hosts: &[Host]) -> Vec<Vec<Shard>> {
    hosts.iter().map(|host| host.executor.shards()).collect()
}

/// The side of requests.
#[derive(Clone)]
struct Front {
    executor: Executor,
    counts: Counts,
    work: Duration,
}

async fn count(State(front): State<Front>, Path(shard): Path<String>) -> Response {
    let serving = match front.executor.serve(&shard).await {
        Ok(serving) => serving,
        Err(not_here) => return elsewhere(&not_here),
    };
    tokio::time::sleep(front.work).await;
    let generation = serving.generation();
    match front.counts.lock().get_mut(&shard) {
        Some(count) => {
            *count += 1;
            format!("{count} under {generation}").into_response()
        }
        None => (StatusCode::INTERNAL_SERVER_ERROR, "the shard went away").into_response(),
    }
}

fn elsewhere(not_here: &NotHere) -> Response {
    let moved_to = [(MOVED_TO, not_here.header().to_owned())];
    (StatusCode::MISDIRECTED_REQUEST, moved_to, not_here.to_string()).into_response()
}

/// The side of shards.
struct Counting {
    counts: Counts,
    disk: Option<Counts>,
    clock: Clock,
    began: mpsc::UnboundedSender<Began>,
}

impl Shards for Counting {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        let count = match shard.state() {
            Some(state) => std::str::from_utf8(state)?.parse()?,
            None => self.read(shard.key()),
        };
        let (key, generation) = (shard.key().to_owned(), shard.generation());
        self.counts.lock().insert(key.clone(), count);
        // Nobody may be listening.
        drop(self.began.send(Began { shard: key, generation, at: self.clock.now() }));
        Ok(())
    }

    async fn stop(&self, shard: Shard) {
        let count = self.counts.lock().remove(shard.key());
        if let (Some(count), Some(disk)) = (count, &self.disk) {
            disk.lock().insert(shard.key().to_owned(), count);
        }
    }

    async fn hand_over(&self, shard: Shard) -> Vec<u8> {
        let count = self.counts.lock().remove(shard.key());
        count.map(|count| count.to_string().into_bytes()).unwrap_or_default()
    }

    fn load(&self, _shard: &str) -> Option<f64> {
        Some(1.0)
    }
}

impl Counting {
    fn read(&self, shard: &str) -> u64 {
        let disk = self.disk.as_ref();
        disk.and_then(|disk| disk.lock().get(shard).copied()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_server::config::StoreKind;

    use super::*;
    use crate::setup::{Laboratory, fixed, ids};

    const SHARDS: u64 = 60;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_count_misses_no_shard_that_is_on_its_way() {
        let laboratory = Laboratory::start(StoreKind::File).await.unwrap();
        let owners = ids(2);
        let namespace = laboratory.create(fixed("count", SHARDS, &owners)).await.unwrap();
        let (began, _begun) = mpsc::unbounded_channel();
        let plan = Plan {
            url: laboratory.url(),
            namespace: "count".to_owned(),
            work: Duration::ZERO,
            clock: namespace.clock,
            began,
            disk: None,
        };
        let mut hosts = Vec::new();
        for id in &owners {
            hosts.push(Host::start(&plan, id, "1").await.unwrap());
        }
        assert_eq!(counted_at_rest(&hosts, SHARDS).await.unwrap(), 0);
        for host in &hosts {
            host.counts.lock().values_mut().for_each(|count| *count = 1);
        }
        let executor = hosts[0].executor.clone();
        let leaving = tokio::spawn(async move { executor.leave().await });
        while !leaving.is_finished() {
            assert_eq!(counted_at_rest(&hosts, SHARDS).await.unwrap(), SHARDS);
            tokio::task::yield_now().await;
        }
        leaving.await.unwrap().unwrap();
        assert_eq!((hosts[0].shards(), hosts[0].counted()), (0, 0));
        assert_eq!(counted_at_rest(&hosts, SHARDS).await.unwrap(), SHARDS);
    }
}
