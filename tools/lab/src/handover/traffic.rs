//! Requests at a steady rate, whatever becomes of the earlier ones, until it is
//! stopped; each is timed from when it was due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use plimsoll_client::{Route, RouteBody, RouteLayer, Spectator};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tower::{Layer, ServiceExt};

use super::Load;
use crate::measure::{Latencies, Percentiles};

type Http = Client<HttpConnector, RouteBody<Full<Bytes>>>;
type Key = fn(&Request<Full<Bytes>>) -> Option<String>;

pub(super) struct Traffic {
    stop: Arc<AtomicBool>,
    sending: JoinHandle<()>,
    under_way: TaskTracker,
    tally: Arc<Tally>,
}

/// What became of the requests.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) sent: u64,
    pub(super) answered: u64,
    /// What the first of the others met with.
    pub(super) complaint: Option<String>,
    pub(super) latencies: Percentiles,
}

struct Tally {
    sent: AtomicU64,
    answered: AtomicU64,
    complaint: Mutex<Option<String>>,
    latencies: Latencies,
}

impl Traffic {
    pub(super) fn start(spectator: Spectator, load: Load) -> Self {
        let tally = Tally {
            sent: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            complaint: Mutex::default(),
            latencies: Latencies::new(),
        };
        let (tally, stop) = (Arc::new(tally), Arc::new(AtomicBool::new(false)));
        let under_way = TaskTracker::new();
        let client = Client::builder(TokioExecutor::new()).build_http();
        let client = RouteLayer::new(spectator, shard as Key).layer(client);
        let send = Sender { client, tally: Arc::clone(&tally), under_way: under_way.clone() };
        let stopped = Arc::clone(&stop);
        let runtime = Handle::current();
        let sending = tokio::task::spawn_blocking(move || send.all(load, &stopped, &runtime));
        Self { stop, sending, under_way, tally }
    }

    /// Stops, and waits for every answer.
    pub(super) async fn stop(self) -> Result<Outcome> {
        self.stop.store(true, Ordering::Relaxed);
        self.sending.await.context("the traffic broke off")?;
        self.under_way.close();
        self.under_way.wait().await;
        Ok(Outcome {
            sent: self.tally.sent.load(Ordering::Relaxed),
            answered: self.tally.answered.load(Ordering::Relaxed),
            complaint: self.tally.complaint.lock().take(),
            latencies: self.tally.latencies.percentiles(),
        })
    }
}

struct Sender {
    client: Route<Key, Http>,
    tally: Arc<Tally>,
    under_way: TaskTracker,
}

impl Sender {
    /// On a thread of its own, since tokio's timer has a resolution of a
    /// millisecond.
    fn all(&self, load: Load, stop: &AtomicBool, runtime: &Handle) {
        let begun = Instant::now();
        let mut n = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            let due = begun + Duration::from_secs_f64(n as f64 / load.rate);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            // A step that has no divisor in common with most numbers of shards.
            let shard = n * 7_919 % load.shards;
            let (client, tally) = (self.client.clone(), Arc::clone(&self.tally));
            tally.sent.fetch_add(1, Ordering::Relaxed);
            self.under_way.spawn_on(async move { tally.take(client, shard, due).await }, runtime);
            n += 1;
        }
    }
}

impl Tally {
    async fn take(&self, client: Route<Key, Http>, shard: u64, due: Instant) {
        match ask(client, shard).await {
            Ok(()) => {
                self.answered.fetch_add(1, Ordering::Relaxed);
                self.latencies.record(due.elapsed());
            }
            Err(error) => {
                self.complaint.lock().get_or_insert_with(|| format!("shard {shard}: {error:#}"));
            }
        }
    }
}

async fn ask(client: Route<Key, Http>, shard: u64) -> Result<()> {
    let request = Request::post(format!("/{shard}")).body(Full::default())?;
    let response = client.oneshot(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&body);
    anyhow::ensure!(status == StatusCode::OK, "{status}: {text}");
    Ok(())
}

fn shard(request: &Request<Full<Bytes>>) -> Option<String> {
    Some(request.uri().path().trim_start_matches('/').to_owned())
}
