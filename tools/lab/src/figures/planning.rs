//! One greedy cycle at 16,000 shards and 400 hosts.

use std::time::Instant;

use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::snapshot::generate::{Size, generate};
use plimsoll_placement::time::Time;

use super::Figure;
use crate::measure::Repeated;

const SIZE: Size = Size { shards: Some(16_000), hosts: Some(400) };
const RUNS: usize = 200;

pub(super) fn measure() -> Vec<Figure> {
    let snapshot = generate("lognormal-1.5", 1, SIZE).unwrap_or_default();
    let policy = Policy { mode: Mode::Greedy, ..Policy::default() };
    let view = snapshot.view();
    let now = Time::from_millis(1_000_000);
    let mut moves = 0;
    let times = (0..RUNS).map(|_| {
        let begun = Instant::now();
        moves = plimsoll_placement::plan(now, &view, &policy, Scope::Full).moves.len();
        begun.elapsed().as_secs_f64() * 1e6
    });
    let took = Repeated::of(times.collect());
    vec![Figure {
        name: "planning",
        measured: format!(
            "{:.0} µs, median of {RUNS} ({:.0} to {:.0}), {moves} moves, hash-ring start, log-normal loads",
            took.median, took.least, took.most
        ),
        to_reach: "under 1 ms",
        reached: took.median < 1_000.0,
    }]
}
