//! What a durable commit costs, alone and in company, and how long a large
//! namespace takes to come back.
//!
//! `cargo bench -p plimsoll-store` measures; without `--bench` (as under
//! `cargo test --all-targets`) it only shows that it still runs. The numbers are
//! those of the disk under the temporary folder: point `TMPDIR` at the one you mean.

use std::error::Error;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use plimsoll_store::record::{GrantRecord, Kind, NamespaceRecord, Write};
use plimsoll_store::{Epoch, FileStore, MemoryStore, Store};
use tempfile::TempDir;

const NAMESPACE: &str = "bench";
const FILE: &str = "plimsoll.redb";
const COMMITTERS: u64 = 64;
const EXECUTORS: u64 = 1_000;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    // A hundredth of everything when only asked whether it runs.
    let scale = if env::args().any(|arg| arg == "--bench") { 100 } else { 1 };
    let memory = Led::new(Arc::new(MemoryStore::new())).await?;
    concurrent("memory, 64 committers", &memory, 20 * scale).await?;

    let dir = TempDir::new()?;
    let file = Led::new(Arc::new(FileStore::open(dir.path())?)).await?;
    sequential("file, one write after another", &file, 1, 50 * scale).await?;
    sequential("file, 100 writes a commit", &file, 100, 10 * scale).await?;
    concurrent("file, 64 committers", &file, 20 * scale).await?;
    paced("file, 5,000 a second offered", &file, 5_000, 250 * scale).await?;
    fill(&file, 10_000 * scale).await?;
    sequential("file, one write, namespace filled", &file, 1, 50 * scale).await?;
    concurrent("file, 64 committers, filled", &file, 20 * scale).await?;
    checkpoint(&file, 10_000 * scale).await?;
    load(&file).await?;
    let crashed = TempDir::new()?;
    // What a killed server leaves: a file that nobody has closed.
    fs::copy(dir.path().join(FILE), crashed.path().join(FILE))?;
    drop(file);
    reopen("closed", dir.path())?;
    reopen("crashed", crashed.path())
}

/// A store and a leadership in it.
#[derive(Clone, Debug)]
struct Led {
    store: Arc<dyn Store>,
    epoch: Epoch,
}

impl Led {
    async fn new(store: Arc<dyn Store>) -> Outcome<Self> {
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
    async fn commit(&self, first: u64, writes: u64) -> Outcome<Duration> {
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

async fn sequential(what: &str, led: &Led, writes: u64, commits: u64) -> Outcome<()> {
    let start = Instant::now();
    let mut took = Vec::new();
    for commit in 0..commits {
        took.push(led.commit(commit * writes, writes).await?);
    }
    report(what, start.elapsed(), took);
    Ok(())
}

async fn concurrent(what: &str, led: &Led, commits_each: u64) -> Outcome<()> {
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

/// Offers commits at a fixed rate, whether or not earlier ones are done. Times count
/// from when a commit was due, so that a stall is felt by all that it delays.
async fn paced(what: &str, led: &Led, rate: u64, count: u64) -> Outcome<()> {
    let start = Instant::now();
    let mut waiting = Vec::new();
    for number in 0..count {
        let due = start + Duration::from_nanos(number * 1_000_000_000 / rate);
        tokio::time::sleep_until(due.into()).await;
        let led = led.clone();
        waiting
            .push(tokio::spawn(async move { led.commit(number, 1).await.map(|_| due.elapsed()) }));
    }
    let mut took = Vec::new();
    for commit in waiting {
        took.push(commit.await??);
    }
    report(what, start.elapsed(), took);
    Ok(())
}

async fn fill(led: &Led, shards: u64) -> Outcome<()> {
    let start = Instant::now();
    for first in (0..shards).step_by(10_000) {
        led.commit(first, 10_000).await?;
    }
    tell(&format!("file, {shards} grants written"), start.elapsed());
    Ok(())
}

async fn checkpoint(led: &Led, shards: u64) -> Outcome<()> {
    let loads = (0..shards).map(|n| (format!("{n:016x}").into(), n as f64)).collect();
    let start = Instant::now();
    led.store.commit(NAMESPACE, led.epoch, vec![Write::Loads(loads)]).await?;
    tell(&format!("file, {shards} loads written"), start.elapsed());
    Ok(())
}

async fn load(led: &Led) -> Outcome<()> {
    for _ in 0..3 {
        let start = Instant::now();
        let stored = led.store.load(NAMESPACE).await?;
        let what =
            format!("file, {} grants and {} loads read", stored.grants.len(), stored.loads.len());
        tell(&what, start.elapsed());
    }
    Ok(())
}

fn reopen(state: &str, dir: &Path) -> Outcome<()> {
    let start = Instant::now();
    FileStore::open(dir)?;
    let took = start.elapsed();
    let bytes = dir.join(FILE).metadata()?.len();
    tell(&format!("file, {} MiB, {state}, verified and opened", bytes >> 20), took);
    Ok(())
}

fn report(what: &str, total: Duration, mut took: Vec<Duration>) {
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

fn tell(what: &impl Display, took: Duration) {
    println!("{what:<40} {took:>9.1?}");
}
