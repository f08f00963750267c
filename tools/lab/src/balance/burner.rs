//! An executor in a process of its own that burns CPU in proportion to the load
//! of the shards it owns, and reports it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use parking_lot::Mutex;
use plimsoll_client::{BoxError, Executor, Shard, Shards};
use plimsoll_placement::snapshot::generate::{Size, generate};

/// How often work is done: short beside a heartbeat.
const TURN: Duration = Duration::from_millis(20);

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[arg(long)]
    server: String,
    #[arg(long)]
    namespace: String,
    #[arg(long)]
    id: String,
    #[command(flatten)]
    work: Work,
}

/// The work of a whole namespace: every process knows it from the seed.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Work {
    #[arg(long, default_value_t = 120)]
    pub(crate) shards: usize,
    /// What all shards burn together, in cores
    #[arg(long, default_value_t = 0.9)]
    pub(crate) cores: f64,
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl Work {
    /// What each shard burns, in cores.
    pub(crate) fn loads(&self) -> Result<Vec<f64>> {
        let size = Size { shards: Some(self.shards), hosts: Some(1) };
        let snapshot = generate("lognormal-1", self.seed, size)?;
        let total: f64 = snapshot.shards.iter().map(|shard| shard.load).sum();
        Ok(snapshot.shards.iter().map(|shard| shard.load / total * self.cores).collect())
    }
}

/// The shards that run here.
#[derive(Clone)]
struct Burning {
    loads: Arc<[f64]>,
    running: Arc<Mutex<BTreeSet<usize>>>,
}

impl Burning {
    fn cores(&self) -> f64 {
        self.running.lock().iter().map(|&shard| self.loads[shard]).sum()
    }

    fn index(&self, key: &str) -> Option<usize> {
        key.parse().ok().filter(|&shard| shard < self.loads.len())
    }
}

impl Shards for Burning {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        let index = self.index(shard.key()).ok_or("a shard that this work does not have")?;
        self.running.lock().insert(index);
        Ok(())
    }

    async fn stop(&self, shard: Shard) {
        if let Some(index) = self.index(shard.key()) {
            self.running.lock().remove(&index);
        }
    }

    /// In thousandths of a core.
    fn load(&self, shard: &str) -> Option<f64> {
        Some(self.loads[self.index(shard)?] * 1000.0)
    }
}

/// Runs until it is killed.
pub(crate) async fn run(options: Options) -> Result<()> {
    let loads = options.work.loads()?.into();
    let burning = Burning { loads, running: Arc::default() };
    let burner = burning.clone();
    std::thread::Builder::new()
        .name("burner".into())
        .spawn(move || burn(&burner))
        .context("cannot start the thread that burns")?;
    let builder = Executor::builder(options.namespace, burning).connect(options.server);
    let executor = builder.id(options.id.clone()).host(options.id).start().await?;
    executor.closed().await;
    Ok(())
}

/// Burns what is due, turn by turn. What was not burnt in a turn, since others
/// had the core, is burnt in the next ones, up to a second of it.
fn burn(burning: &Burning) {
    let (mut last, mut due) = (Instant::now(), 0.0_f64);
    loop {
        std::thread::sleep(TURN);
        let now = Instant::now();
        due = (due + burning.cores() * (now - last).as_secs_f64()).min(1.0);
        last = now;
        due -= spin(due);
    }
}

/// Keeps the core for so many seconds of it, or for a turn of real time; what it
/// had.
fn spin(seconds: f64) -> f64 {
    let (begun, before) = (Instant::now(), on_core());
    loop {
        for step in 0..100_000u64 {
            std::hint::black_box(step.wrapping_mul(step));
        }
        let had = on_core() - before;
        if had >= seconds || begun.elapsed() > 4 * TURN {
            return had;
        }
    }
}

/// Seconds that this thread has had a core, as Linux counts them.
fn on_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|field| field.parse::<f64>().ok());
    nanos.unwrap_or(0.0) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Work = Work { shards: 40, cores: 0.5, seed: 3 };

    #[test]
    fn all_shards_together_burn_what_was_asked() {
        let loads = WORK.loads().unwrap();
        assert_eq!(loads.len(), 40);
        assert!((loads.iter().sum::<f64>() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_spin_takes_the_core_for_as_long_as_it_says() {
        let before = on_core();
        let had = spin(0.01);
        assert!(had >= 0.01);
        assert!(on_core() - before >= had);
    }
}
