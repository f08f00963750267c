//! Every executor is replaced, one after the other, under load.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_client::Spectator;
use plimsoll_server::config::StoreKind;
use plimsoll_server::driver::NamespaceHandle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::Load;
use super::service::{Counts, Host, Plan, counted_at_rest};
use super::traffic::{Outcome, Traffic};
use crate::figures::Figure;
use crate::setup::{Laboratory, fixed, ids};

const NAMESPACE: &str = "restart";
const PATIENCE: Duration = Duration::from_secs(60);
/// A process answers so long after it has handed over: the maps have it by then.
const LINGER: Duration = Duration::from_millis(200);
/// What a process takes to come up.
const STARTING: Duration = Duration::from_millis(300);
/// Nothing has moved for so long: it is over.
const CALM: Duration = Duration::from_secs(5);

/// What becomes of the shards of an executor that is restarted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// They are handed to others.
    Hand,
    /// The same, but its replacement comes up before it goes.
    Surge,
    /// They are kept for it.
    Keep,
}

pub(super) async fn measure(load: Load, kind: Kind) -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let owners = ids(load.executors);
    let mut request = fixed(NAMESPACE, load.shards, &owners);
    if kind == Kind::Keep {
        request.settings.insert("restart_grace".to_owned(), "10s".to_owned());
    }
    let namespace = laboratory.create(request).await?;
    let (began, mut begun) = mpsc::unbounded_channel();
    let plan = Plan {
        url: laboratory.url(),
        namespace: NAMESPACE.to_owned(),
        work: load.work(),
        clock: namespace.clock,
        began,
        disk: (kind == Kind::Keep).then(Counts::default),
    };
    let mut hosts = VecDeque::new();
    for id in &owners {
        hosts.push_back(Host::start(&plan, id, "1").await?);
    }
    for _ in 0..load.shards {
        timeout(PATIENCE, begun.recv()).await.context("the first shards did not start")?;
    }
    let spectator = Spectator::connect(&laboratory.url(), NAMESPACE).await?;
    let traffic = Traffic::start(spectator, load);
    let before = moves(&namespace).await?;
    for id in &owners {
        let old = hosts.pop_front().context("there are as many hosts as ids")?;
        hosts.push_back(replace(&plan, kind, id, old).await?);
    }
    let forced = moves(&namespace).await? - before;
    until_calm(&namespace).await?;
    let moved = Moved { during: forced, in_all: moves(&namespace).await? - before };
    let outcome = traffic.stop().await?;
    let counted = counted_at_rest(hosts.make_contiguous(), load.shards).await?;
    drop(hosts);
    laboratory.server.stop().await;
    Ok(vec![figure(kind, load, &outcome, counted, moved)])
}

/// Moves that the restarts led to.
#[derive(Clone, Copy, Debug)]
struct Moved {
    /// Until the last executor was back.
    during: u64,
    /// Until nothing moved any more: that one has been filled.
    in_all: u64,
}

async fn replace(plan: &Plan, kind: Kind, id: &str, old: Host) -> Result<Host> {
    if kind == Kind::Surge {
        let next = Host::start(plan, &format!("{id}-again"), "2").await?;
        old.stop(LINGER).await.with_context(|| format!("{id} did not stop"))?;
        return Ok(next);
    }
    old.stop(LINGER).await.with_context(|| format!("{id} did not stop"))?;
    sleep(STARTING).await;
    Host::start(plan, id, "2").await
}

async fn moves(namespace: &Arc<NamespaceHandle>) -> Result<u64> {
    Ok(namespace.read(|_, it| it.stats().moves).await?)
}

async fn until_calm(namespace: &Arc<NamespaceHandle>) -> Result<()> {
    let begun = Instant::now();
    let (mut last, mut since) = (moves(namespace).await?, Instant::now());
    while since.elapsed() < CALM {
        ensure!(begun.elapsed() < PATIENCE, "shards are still moving after {PATIENCE:?}");
        sleep(Duration::from_millis(100)).await;
        let now = moves(namespace).await?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(())
}

fn figure(kind: Kind, load: Load, outcome: &Outcome, counted: u64, moved: Moved) -> Figure {
    let lost = outcome.sent - outcome.answered;
    let each = |moves: u64| moves as f64 / load.shards as f64;
    let (during, in_all) = (each(moved.during), each(moved.in_all));
    let latencies = &outcome.latencies;
    let complaint = outcome.complaint.as_deref().unwrap_or("none");
    let name = match kind {
        Kind::Hand => "restart",
        Kind::Surge => "surge",
        Kind::Keep => "return",
    };
    Figure {
        name,
        measured: format!(
            "{} executors replaced: {lost} of {} requests failed (first complaint: {complaint}), {} answered and {counted} counted; {in_all:.3} moves a shard, {during:.3} until the last was back; p50 {:.2} ms, p99 {:.2} ms, longest {:.1} ms from when they were due",
            load.executors,
            outcome.sent,
            outcome.answered,
            latencies.p50_ms,
            latencies.p99_ms,
            latencies.max_ms
        ),
        to_reach: if kind == Kind::Keep {
            "0 failed, 0 moves a shard"
        } else {
            "0 failed, at most 1.1 moves a shard"
        },
        reached: lost == 0
            && counted == outcome.answered
            && in_all <= if kind == Kind::Keep { 0.0 } else { 1.1 },
    }
}
