//! The real machine and real holders over a simulated network, by seed.
//!
//! `PLIMSOLL_SEEDS=20000` runs that many seeds, `PLIMSOLL_SEED=7` only that one
//! and prints its story. A seed that fails prints its story by itself: run it
//! again with `PLIMSOLL_SEED`, change the machine, run it again.
//!
//! What must hold is in `oracle.rs`; what goes wrong on purpose in `nemesis.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod chance;
mod etcd;
mod gopher;
mod locals;
mod machine;
mod nemesis;
mod network;
mod operator;
mod oracle;
mod process;
#[path = "../common/store.rs"]
mod store;
mod term;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use oracle::Verdict;
use world::World;

const SEEDS: u64 = 2_000;

#[test]
fn at_most_one_owner_and_never_nobody_for_long_whatever_goes_wrong() {
    if let Some(seed) = number("PLIMSOLL_SEED") {
        return tell(seed);
    }
    let (next, end) = (AtomicU64::new(0), number("PLIMSOLL_SEEDS").unwrap_or(SEEDS));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&next, end))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    if let Some(seed) = results.iter().filter_map(|result| result.as_ref().err()).min() {
        tell(*seed);
    }
    let mut total = Verdict::default();
    results.iter().flatten().for_each(|verdict| total.add(verdict));
    println!("{total}");
}

/// Runs seeds until there are none, or one of them fails.
fn work(next: &AtomicU64, end: u64) -> Result<Verdict, u64> {
    let mut total = Verdict::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return Ok(total);
        }
        let run = catch_unwind(AssertUnwindSafe(|| World::new(seed, false).run()));
        total.add(&run.map_err(|_| seed)?);
    }
}

/// Runs one seed and tells its story.
fn tell(seed: u64) {
    let mut world = World::new(seed, true);
    let run = catch_unwind(AssertUnwindSafe(|| world.run()));
    println!("the story of seed {seed}:");
    for line in &world.story {
        println!("{line}");
    }
    assert!(run.is_ok(), "seed {seed} failed");
}

#[expect(clippy::disallowed_methods, reason = "the test's own switches")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}
