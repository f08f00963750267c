//! The real machine and real holders over a simulated network, by seed.
//!
//! `PLIMSOLL_SEEDS=20000` runs that many seeds, `PLIMSOLL_SEED=7` only that one
//! and prints its story. A seed that fails prints its story by itself: run it
//! again with `PLIMSOLL_SEED`, change the machine, run it again.
//!
//! What must hold is in `oracle.rs`; what goes wrong on purpose in `nemesis.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod chance;
mod gopher;
mod locals;
mod nemesis;
mod network;
mod operator;
mod oracle;
mod process;
mod server;
#[path = "../common/store.rs"]
mod store;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use oracle::Verdict;
use world::World;

const SEEDS: u64 = 300;

#[test]
fn at_most_one_owner_and_never_nobody_for_long_whatever_goes_wrong() {
    if let Some(seed) = number("PLIMSOLL_SEED") {
        return tell(seed);
    }
    let mut total = Verdict::default();
    for seed in 0..number("PLIMSOLL_SEEDS").unwrap_or(SEEDS) {
        let run = catch_unwind(AssertUnwindSafe(|| World::new(seed, false).run()));
        match run {
            Ok(verdict) => total.add(&verdict),
            Err(_) => tell(seed),
        }
    }
    println!("{total}");
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
