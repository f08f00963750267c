//! One change told to 1,000 watchers of a namespace of 100,000 shards.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_server::board::Held;
use plimsoll_server::config::StoreKind;
use plimsoll_wire::v1;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use plimsoll_wire::v1::watch_response::Message;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tonic::Streaming;

use super::Figure;
use crate::measure::Latencies;
use crate::setup::{Laboratory, admin, channel, fixed, ids};

const SHARDS: u64 = 100_000;
const WATCHERS: usize = 1_000;
const CONNECTIONS: usize = 10;
const CHANGES: usize = 50;
const PATIENCE: Duration = Duration::from_secs(30);

/// One watcher was told of a revision.
struct Told {
    at: Instant,
    revision: u64,
    bytes: usize,
}

pub(super) async fn measure() -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let mut request = fixed("fanout", SHARDS, &ids(100));
    request.settings.insert("heartbeat_ttl".to_owned(), "1h".to_owned());
    let namespace = laboratory.create(request).await?;
    let (sender, mut told) = mpsc::unbounded_channel();
    let Held { epoch, revision } = namespace.board.held().context("there is no map yet")?;
    for connection in 0..CONNECTIONS {
        let client = RoutingServiceClient::new(channel(&laboratory.url())?);
        for _ in 0..WATCHERS / CONNECTIONS {
            let request = v1::WatchRequest {
                namespace: "fanout".to_owned(),
                epoch: epoch.to_string(),
                revision,
            };
            let stream = client
                .clone()
                .watch(request)
                .await
                .with_context(|| format!("watch on connection {connection}"))?;
            tokio::spawn(listen(stream.into_inner(), sender.clone()));
        }
    }
    let (slowest, bytes) = (Latencies::new(), Arc::new(parking_lot::Mutex::new(0)));
    let mut admin = admin(&laboratory.url())?;
    for change in 0..CHANGES {
        let before = namespace.board.revision();
        let begun = Instant::now();
        let request = v1::DrainShardsRequest {
            namespace: "fanout".to_owned(),
            shard_keys: vec![change.to_string()],
            ..Default::default()
        };
        admin.drain_shards(request).await?;
        for _ in 0..WATCHERS {
            let one = timeout(PATIENCE, next_after(&mut told, before)).await;
            let one = one.context("a watcher was not told")?.context("watchers are gone")?;
            slowest.record(one.at - begun);
            *bytes.lock() += one.bytes;
        }
    }
    laboratory.server.stop().await;
    let took = slowest.percentiles();
    let per_change = *bytes.lock() / (CHANGES * WATCHERS);
    Ok(vec![Figure {
        name: "fanout",
        measured: format!(
            "p50 {:.1} ms, p99 {:.1} ms from the order until each of {WATCHERS} watchers has the change, over {CHANGES} changes; {per_change} bytes a watcher and change",
            took.p50_ms, took.p99_ms
        ),
        to_reach: "p99 under 50 ms, bytes in proportion to the change",
        reached: took.p99_ms < 50.0 && per_change < 100,
    }])
}

async fn listen(mut stream: Streaming<v1::WatchResponse>, told: mpsc::UnboundedSender<Told>) {
    while let Ok(Some(response)) = stream.message().await {
        let (at, bytes) = (Instant::now(), response.encoded_len());
        if let Some(Message::Delta(delta)) = response.message {
            // The measurement may be over.
            drop(told.send(Told { at, revision: delta.to, bytes }));
        }
    }
}

/// The next word of the first revision after that one.
async fn next_after(told: &mut mpsc::UnboundedReceiver<Told>, revision: u64) -> Option<Told> {
    loop {
        let one = told.recv().await?;
        if one.revision == revision + 1 {
            return Some(one);
        }
    }
}
