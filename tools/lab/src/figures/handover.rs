//! A planned move: from the decision until the new owner runs the shard and a
//! spectator has been told.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_client::Spectator;
use plimsoll_ownership::event::What;
use plimsoll_placement::time::Time;
use plimsoll_server::config::StoreKind;
use plimsoll_server::driver::NamespaceHandle;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::sharddistributor::{DrainHostsRequest, DrainedHost, UndrainHostsRequest};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Figure;
use crate::measure::Latencies;
use crate::setup::{Began, Laboratory, Reporting, channel, executor, fixed, ids};

const EXECUTORS: usize = 10;
const SHARDS: u64 = 1_000;
/// Drains of one host, each of which moves its hundred shards or so.
const DRAINS: usize = 30;
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn measure() -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let owners = ids(EXECUTORS);
    let namespace = laboratory.create(fixed("handover", SHARDS, &owners)).await?;
    let (began, mut begun) = mpsc::unbounded_channel();
    let mut executors = Vec::new();
    for id in &owners {
        let reporting = Reporting { clock: namespace.clock, began: began.clone() };
        executors.push(executor(&laboratory.url(), "handover", id, reporting).await?);
    }
    for _ in 0..SHARDS {
        timeout(PATIENCE, begun.recv()).await.context("the first shards did not start")?;
    }
    let spectator = Spectator::connect(&laboratory.url(), "handover").await?;
    let mut client = ShardDistributorApiClient::new(channel(&laboratory.url())?);
    let (one, hundred) = (Latencies::new(), Latencies::new());
    for round in 0..DRAINS {
        let host = owners[round % EXECUTORS].clone();
        let drained = DrainedHost { hostname: host.clone(), ..Default::default() };
        let request = DrainHostsRequest { namespace: "handover".to_owned(), hosts: vec![drained] };
        let ordered = namespace.clock.now();
        client.drain_hosts(request).await?;
        let decided = decided(&namespace, &host, ordered);
        let slowest = follow(&namespace, &spectator, &mut begun, decided, &one).await?;
        hundred.record(slowest);
        let request =
            UndrainHostsRequest { namespace: "handover".to_owned(), hostnames: vec![host] };
        client.undrain_hosts(request).await?;
    }
    drop(executors);
    laboratory.server.stop().await;
    let (each, last) = (one.percentiles(), hundred.percentiles());
    Ok(vec![Figure {
        name: "handover",
        measured: format!(
            "p50 {:.2} ms, p99 {:.2} ms over {} moves, from the decision until the new owner runs and a spectator knows, ~100 moves at a time; the last of each hundred p50 {:.1} ms",
            each.p50_ms, each.p99_ms, each.count, last.p50_ms
        ),
        to_reach: "p50 under 5 ms, p99 under 25 ms",
        reached: each.p50_ms < 5.0 && each.p99_ms < 25.0,
    }])
}

/// When the shards of a host were revoked after that order.
fn decided(namespace: &NamespaceHandle, host: &str, ordered: Time) -> HashMap<String, Time> {
    let revoked = namespace.history.newest(4 * SHARDS as usize, |event| {
        event.what == What::Revoked
            && event.at >= ordered
            && event.executor.as_deref() == Some(host)
    });
    revoked.into_iter().filter_map(|event| Some((event.shard?.to_string(), event.at))).collect()
}

/// Waits until those shards run elsewhere and times each; the slowest.
async fn follow(
    namespace: &NamespaceHandle,
    spectator: &Spectator,
    begun: &mut mpsc::UnboundedReceiver<Began>,
    mut waiting: HashMap<String, Time>,
    each: &Latencies,
) -> Result<Duration> {
    let mut slowest = Duration::ZERO;
    let mut changes = spectator.changes();
    while !waiting.is_empty() {
        let started = timeout(PATIENCE, begun.recv()).await.context("a move did not end")?;
        let Began { shard, generation, at } = started.context("the executors are gone")?;
        let Some(decided) = waiting.remove(&shard) else { continue };
        let told = told(namespace, spectator, &mut changes, &shard, generation).await?;
        let took = at.max(told) - decided;
        slowest = slowest.max(took);
        each.record(took);
    }
    Ok(slowest)
}

/// When the spectator knew of that grant, at the latest.
async fn told(
    namespace: &NamespaceHandle,
    spectator: &Spectator,
    changes: &mut tokio::sync::watch::Receiver<u64>,
    shard: &str,
    generation: u64,
) -> Result<Time> {
    loop {
        let knows = spectator.try_lookup(shard).is_some_and(|it| it.generation() >= generation);
        if knows {
            return Ok(namespace.clock.now());
        }
        timeout(PATIENCE, changes.changed()).await.context("the spectator was not told")??;
    }
}
