//! The adaptive planner's time on one core, and the memory it works in.
//!
//! One plan with an unlimited budget, from even counts with log-normal loads, to
//! rest; then a cycle after one load in a hundred has changed. Real time: what
//! else the machine does counts.
//!
//! Memory is that of the process as Linux counts it, so only the first plan of a
//! process shows what planning takes: it is given when one mode is run on one
//! size.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, Load, ShardView, View};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::measure::gap;
use crate::mode::{Mode, Planner};
use crate::report::Report;
use crate::world::{Moved, apply, balance, bound};

const SIZES: [(usize, usize); 3] = [(10_000, 100), (75_000, 1000), (1_000_000, 10_000)];
/// What the issue asks for, in milliseconds.
const ASKED: [f64; 3] = [20.0, 250.0, 5000.0];
/// Plans that are made to get to rest, at most: the first makes nearly all moves.
const MOST_PLANS: usize = 20;

/// How the experiment is run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How often each is timed; the median counts
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
    /// Only the sizes with so many shards
    #[arg(long, value_name = "SHARDS", value_delimiter = ',')]
    pub shards: Vec<usize>,
    /// Only these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Timed {
    mode: &'static str,
    shards: usize,
    hosts: usize,
    /// The first plan, median of all runs.
    plan_ms: f64,
    /// What that leaves, in points above the bound.
    gap_points: f64,
    /// A cycle at rest after a hundredth of loads have changed.
    change_ms: f64,
    /// What the process grew by at most while planning, beside the view.
    bytes_a_shard: Option<f64>,
    asked_ms: f64,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let modes = super::modes(&options.mode, &[Mode::GREEDY, Mode::ADAPTIVE])?;
    let columns =
        ["mode", "shards", "hosts", "plan ms", "asked", "gap", "1 % changed ms", "bytes a shard"];
    let title =
        format!("One plan with no limit on moves, median of {}; gap in points.", options.runs);
    let mut report = Report::new(title, &columns);
    let wanted = |shards: usize| options.shards.is_empty() || options.shards.contains(&shards);
    let sizes: Vec<_> = SIZES.into_iter().zip(ASKED).filter(|it| wanted(it.0.0)).collect();
    let is_alone = sizes.len() * modes.len() == 1;
    for ((shards, hosts), asked) in sizes {
        for &mode in &modes {
            eprintln!("{}: {shards} shards on {hosts} hosts ...", mode.as_str());
            let mut timed = one(mode, (shards, hosts), asked, options.runs);
            timed.bytes_a_shard = timed.bytes_a_shard.filter(|_| is_alone);
            report.line(cells(&timed), &timed)?;
        }
    }
    Ok(report)
}

fn one(mode: Mode, (shards, hosts): (usize, usize), asked_ms: f64, runs: usize) -> Timed {
    let planner = Planner::new(mode).with_budget(1.0);
    let (view, now) = (start(shards, hosts), Time::from_millis(1_000_000));
    let before = Memory::reset();
    let steps = planner.cycle(now, &view);
    let grown = before.and_then(|before| Some(Memory::now()?.peak.saturating_sub(before.held)));
    let plan = median(runs, || planner.cycle(now, &view));
    let mut view = view;
    apply(&mut view, &steps, now);
    let gap_points = gap(&balance(&view), &bound(&view));
    let now = settle(&planner, &mut view, now);
    change(&mut view);
    let changed = median(runs, || planner.cycle(now, &view));
    Timed {
        mode: mode.as_str(),
        shards,
        hosts,
        plan_ms: millis(plan),
        gap_points,
        change_ms: millis(changed),
        bytes_a_shard: grown.map(|bytes| bytes as f64 / shards as f64),
        asked_ms,
    }
}

/// Further plans until nothing moves, each after every cooldown; when that is.
fn settle(planner: &Planner, view: &mut View, mut now: Time) -> Time {
    for _ in 0..MOST_PLANS {
        now += planner.patience() + Duration::from_secs(1);
        let steps = planner.cycle(now, view);
        if apply(view, &steps, now) == Moved::default() {
            break;
        }
    }
    now
}

/// Even counts and log-normal loads.
fn start(shards: usize, hosts: usize) -> View {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut owners: Vec<u32> = (0..shards).map(|shard| (shard % hosts) as u32).collect();
    owners.shuffle(&mut rng);
    let mut shard = |(key, owner): (usize, u32)| {
        let normal: f64 = rng.sample(StandardNormal);
        ShardView {
            owner: Some(ExecutorIndex(owner)),
            load: Some(Load::exactly(normal.exp())),
            ..ShardView::new(key_hash(&key.to_string()))
        }
    };
    View {
        executors: (0..hosts)
            .map(|host| ExecutorView::new(format!("host-{host}"), Candidacy::Open))
            .collect(),
        shards: owners.into_iter().enumerate().map(&mut shard).collect(),
    }
}

/// One load in a hundred grows or shrinks by up to a tenth.
fn change(view: &mut View) {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    for shard in view.shards.iter_mut().step_by(100) {
        let load = shard.load.map_or(1.0, |load| load.smoothed);
        shard.load = Some(Load::exactly(load * rng.random_range(0.9..1.1)));
    }
}

fn median<T>(runs: usize, mut work: impl FnMut() -> T) -> Duration {
    let timed = |_| {
        let begun = Instant::now();
        std::hint::black_box(work());
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..runs.max(1)).map(timed).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Bytes of this process, as Linux counts them.
#[derive(Clone, Copy, Debug)]
struct Memory {
    held: u64,
    peak: u64,
}

impl Memory {
    /// What is held now; the peak starts anew. `None` where that cannot be had.
    fn reset() -> Option<Self> {
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        Self::now()
    }

    fn now() -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
        };
        Some(Self { held: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}

fn cells(timed: &Timed) -> Vec<String> {
    vec![
        timed.mode.into(),
        timed.shards.to_string(),
        timed.hosts.to_string(),
        format!("{:.2}", timed.plan_ms),
        format!("{:.0}", timed.asked_ms),
        format!("{:.2}", timed.gap_points),
        format!("{:.2}", timed.change_ms),
        timed.bytes_a_shard.map_or_else(|| "-".into(), |bytes| format!("{bytes:.0}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_has_even_counts_and_uneven_loads() {
        let view = start(1000, 10);
        let count =
            |host| view.shards.iter().filter(|it| it.owner == Some(ExecutorIndex(host))).count();
        assert!((0..10).all(|host| count(host) == 100));
        assert!(balance(&view).max_over_mean() > 1.02);
    }

    #[test]
    fn one_load_in_a_hundred_changes() {
        let before = start(1000, 10);
        let mut after = before.clone();
        change(&mut after);
        let changed = before.shards.iter().zip(&after.shards).filter(|(a, b)| a.load != b.load);
        assert_eq!(changed.count(), 10);
    }

    #[test]
    fn what_is_timed_is_a_plan_that_helps() {
        let timed = one(Mode::ADAPTIVE, (500, 10), 1.0, 1);
        let start = gap(&balance(&start(500, 10)), &bound(&start(500, 10)));
        assert!(timed.gap_points < start, "{timed:?}");
        assert!(timed.plan_ms > 0.0 && timed.change_ms > 0.0);
    }
}
