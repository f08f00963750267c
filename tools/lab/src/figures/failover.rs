//! Kill -9 of one of ten executors until every shard of it runs elsewhere.

use std::collections::HashSet;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_server::config::StoreKind;
use plimsoll_server::driver::NamespaceHandle;
use rand::RngExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::Figure;
use crate::measure::Latencies;
use crate::setup::{Began, Laboratory, Reporting, executor, fixed, ids};

const EXECUTORS: usize = 10;
const SHARDS: u64 = 1_000;
const KILLS: usize = 40;
const VICTIM: &str = "host-9";
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn measure() -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let namespace = laboratory.create(fixed("failover", SHARDS, &ids(EXECUTORS))).await?;
    let (began, mut begun) = mpsc::unbounded_channel();
    let mut survivors = Vec::new();
    for id in ids(EXECUTORS - 1) {
        let reporting = Reporting { clock: namespace.clock, began: began.clone() };
        survivors.push(executor(&laboratory.url(), "failover", &id, reporting).await?);
    }
    let latencies = Latencies::new();
    for kill in 0..KILLS {
        let mut victim = start_victim(&laboratory.url(), kill)?;
        let shards = shards_of_victim(&namespace, kill).await?;
        // Anywhere between two beats.
        sleep(Duration::from_millis(rand::rng().random_range(0..500))).await;
        while begun.try_recv().is_ok() {}
        victim.kill().context("cannot kill the executor")?;
        let killed = namespace.clock.now();
        let last = last_start(&mut begun, shards).await?;
        latencies.record(last.at - killed);
        victim.wait().context("cannot wait for the executor")?;
    }
    drop(survivors);
    laboratory.server.stop().await;
    let took = latencies.percentiles();
    Ok(vec![Figure {
        name: "failover",
        measured: format!(
            "p50 {:.2} s, p99 {:.2} s over {KILLS} kills, until the last of its shards runs elsewhere",
            took.p50_ms / 1000.0,
            took.p99_ms / 1000.0
        ),
        to_reach: "p50 under 2.2 s, p99 under 2.5 s with the default lease",
        reached: took.p50_ms < 2_200.0 && took.p99_ms < 2_500.0,
    }])
}

/// The first victim owns what the namespace was created with; later ones fill up
/// as the executor that has nothing.
fn start_victim(url: &str, kill: usize) -> Result<Child> {
    let id = if kill == 0 { VICTIM.to_owned() } else { format!("{VICTIM}-{kill}") };
    // One host, or the server would suspect the shards of killing hosts.
    let arguments =
        ["executor", "--server", url, "--namespace", "failover", "--id", &id, "--host", VICTIM];
    let lab = std::env::current_exe().context("cannot find this program")?;
    Command::new(lab).args(arguments).spawn().context("cannot start an executor")
}

async fn shards_of_victim(namespace: &NamespaceHandle, kill: usize) -> Result<HashSet<String>> {
    let id = if kill == 0 { VICTIM.to_owned() } else { format!("{VICTIM}-{kill}") };
    let begun = Instant::now();
    loop {
        let wanted = id.clone();
        let shards: HashSet<String> = namespace
            .read(move |now, it| {
                let Some(executor) = it.executor_of(&wanted) else { return HashSet::new() };
                if executor.protocol != "session" || executor.status != "active" {
                    return HashSet::new();
                }
                it.shards_on(now, &executor).map(|shard| shard.key.to_string()).collect()
            })
            .await?;
        if shards.len() > 10 {
            return Ok(shards);
        }
        anyhow::ensure!(begun.elapsed() < PATIENCE, "executor {id} got no shards");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn last_start(
    begun: &mut mpsc::UnboundedReceiver<Began>,
    mut waiting: HashSet<String>,
) -> Result<Began> {
    loop {
        let started = timeout(PATIENCE, begun.recv()).await;
        let started = started.context("a shard was not started")?.context("executors are gone")?;
        waiting.remove(&started.shard);
        if waiting.is_empty() {
            return Ok(started);
        }
    }
}
