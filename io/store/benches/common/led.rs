//! What the measurements of all stores share.

use std::error::Error;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_store::record::{GrantRecord, Kind, NamespaceRecord, Write};
use plimsoll_store::{Epoch, Store};

pub(crate) const NAMESPACE: &str = "bench";
const COMMITTERS: u64 = 64;
const EXECUTORS: u64 = 1_000;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A store and a leadership in it.
#[derive(Clone, Debug)]
pub(crate) struct Led {
    pub(crate) store: Arc<dyn Store>,
    epoch: Epoch,
}

impl Led {
    pub(crate) async fn new(store: Arc<dyn Store>) -> Outcome<Self> {
        let record = NamespaceRecord {
            name: NAMESPACE.into(),
            kind: Kind::Ephemeral,
            settings: Vec::new(),
            frozen: false,
        };
        store.create(record, Vec::new()).await?;
        let epoch = store.lead(NAMESPACE).await?;
        Ok(Self { store, epoch })
    }

    /// Commits grants of the shards `first..first + writes`; says how long it took.
    pub(crate) async fn commit(&self, first: u64, writes: u64) -> Outcome<Duration> {
        let writes = (first..first + writes).map(grant).collect();
        let start = Instant::now();
        self.store.commit(NAMESPACE, self.epoch, writes).await?;
        Ok(start.elapsed())
    }
}

fn grant(number: u64) -> Write {
    let executor = format!("executor-{:04}.example:7944", number % EXECUTORS).into();
    // Spread like the hashes that real keys are, not in the order of the tree.
    let shard = format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into();
    Write::Grant { shard, grant: GrantRecord { executor, generation: number } }
}

pub(crate) async fn sequential(what: &str, led: &Led, writes: u64, commits: u64) -> Outcome<()> {
    let start = Instant::now();
    let mut took = Vec::new();
    for commit in 0..commits {
        took.push(led.commit(commit * writes, writes).await?);
    }
    report(what, start.elapsed(), took);
    Ok(())
}

pub(crate) async fn concurrent(what: &str, led: &Led, commits_each: u64) -> Outcome<()> {
    let start = Instant::now();
    let committers: Vec<_> = (0..COMMITTERS)
        .map(|committer| tokio::spawn(commits(led.clone(), committer, commits_each)))
        .collect();
    let mut took = Vec::new();
    for committer in committers {
        took.extend(committer.await??);
    }
    report(what, start.elapsed(), took);
    Ok(())
}

async fn commits(led: Led, committer: u64, count: u64) -> Outcome<Vec<Duration>> {
    let mut took = Vec::new();
    for number in 0..count {
        took.push(led.commit(committer * 1_000_000 + number, 1).await?);
    }
    Ok(took)
}

pub(crate) async fn fill(what: &str, led: &Led, shards: u64) -> Outcome<()> {
    let start = Instant::now();
    for first in (0..shards).step_by(10_000) {
        led.commit(first, 10_000).await?;
    }
    tell(&format!("{what}, {shards} grants written"), start.elapsed());
    Ok(())
}

pub(crate) async fn checkpoint(what: &str, led: &Led, shards: u64) -> Outcome<()> {
    let loads = (0..shards).map(|n| (format!("{n:016x}").into(), n as f64)).collect();
    let start = Instant::now();
    led.store.commit(NAMESPACE, led.epoch, vec![Write::Loads(loads)]).await?;
    tell(&format!("{what}, {shards} loads written"), start.elapsed());
    Ok(())
}

pub(crate) async fn load(what: &str, led: &Led) -> Outcome<()> {
    for _ in 0..3 {
        let start = Instant::now();
        let stored = led.store.load(NAMESPACE).await?;
        let (grants, loads) = (stored.grants.len(), stored.loads.len());
        tell(&format!("{what}, {grants} grants and {loads} loads read"), start.elapsed());
    }
    Ok(())
}

pub(crate) fn report(what: &str, total: Duration, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |per_mille: usize| took[(took.len() - 1) * per_mille / 1000];
    let rate = took.len() as f64 / total.as_secs_f64();
    println!(
        "{what:<40} {rate:>9.0}/s  p50 {:>9.1?}  p99 {:>9.1?}  max {:>9.1?}",
        at(500),
        at(990),
        at(1000)
    );
}

pub(crate) fn tell(what: &impl Display, took: Duration) {
    println!("{what:<40} {took:>9.1?}");
}
