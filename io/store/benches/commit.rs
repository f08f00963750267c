//! What a durable commit costs, alone and in company, and how long a large
//! namespace takes to come back.
//!
//! `cargo bench -p plimsoll-store` measures; without `--bench` (as under
//! `cargo test --all-targets`) it only shows that it still runs. The numbers are
//! those of the disk under the temporary folder: point `TMPDIR` at the one you mean.

#[path = "common/led.rs"]
mod led;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use led::{Led, Outcome, checkpoint, concurrent, fill, load, report, sequential, tell};
use plimsoll_store::{FileStore, MemoryStore};
use tempfile::TempDir;

const FILE: &str = "plimsoll.redb";

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
    fill("file", &file, 10_000 * scale).await?;
    sequential("file, one write, namespace filled", &file, 1, 50 * scale).await?;
    concurrent("file, 64 committers, filled", &file, 20 * scale).await?;
    checkpoint("file", &file, 10_000 * scale).await?;
    load("file", &file).await?;
    let crashed = TempDir::new()?;
    // What a killed server leaves: a file that nobody has closed.
    fs::copy(dir.path().join(FILE), crashed.path().join(FILE))?;
    drop(file);
    reopen("closed", dir.path())?;
    reopen("crashed", crashed.path())
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

fn reopen(state: &str, dir: &Path) -> Outcome<()> {
    let start = Instant::now();
    FileStore::open(dir)?;
    let took = start.elapsed();
    let bytes = dir.join(FILE).metadata()?.len();
    tell(&format!("file, {} MiB, {state}, verified and opened", bytes >> 20), took);
    Ok(())
}
