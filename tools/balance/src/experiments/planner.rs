//! The adaptive planner's time on one core, and the memory it works in.
//!
//! One plan with an unlimited budget, from even counts with log-normal loads, to
//! rest; then cycles of what is kept between cycles, after some loads have changed,
//! with what it costs to say so. Real time: what else the machine does counts.
//!
//! Memory is that of the process as Linux counts it, so only the first plan of a
//! process shows what planning takes: it is given when one mode is run on one
//! size.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use plimsoll_placement::Ledger;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{
    Candidacy, ExecutorIndex, ExecutorView, Load, ShardIndex, ShardView, View,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::measure::gap;
use crate::mode::{Mode, Planner, steps};
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
    /// After ten have.
    ten_ms: f64,
    /// After none has.
    still_ms: f64,
    /// What the process grew by at most while planning, beside the view; with what
    /// is kept.
    bytes_a_shard: Option<f64>,
    /// What is kept between cycles.
    kept_bytes_a_shard: Option<f64>,
    asked_ms: f64,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let modes = super::modes(&options.mode, &[Mode::GREEDY, Mode::ADAPTIVE])?;
    let columns = [
        "mode",
        "shards",
        "hosts",
        "plan ms",
        "asked",
        "gap",
        "1 % changed ms",
        "10 changed ms",
        "none changed ms",
        "bytes a shard",
        "kept",
    ];
    let title =
        format!("One plan with no limit on moves, median of {}; gap in points.", options.runs);
    let mut report = Report::new(title, &columns);
    let wanted = |shards: usize| options.shards.is_empty() || options.shards.contains(&shards);
    let sizes: Vec<_> = SIZES.into_iter().zip(ASKED).filter(|it| wanted(it.0.0)).collect();
    if let Some(other) = modes.iter().find(|mode| !matches!(mode, Mode::Ours(_))) {
        bail!("{} is not timed: only the product's own modes are", other.as_str());
    }
    let is_alone = sizes.len() * modes.len() == 1;
    for ((shards, hosts), asked) in sizes {
        for &mode in &modes {
            eprintln!("{}: {shards} shards on {hosts} hosts ...", mode.as_str());
            let mut timed = one(mode, (shards, hosts), asked, options.runs);
            timed.bytes_a_shard = timed.bytes_a_shard.filter(|_| is_alone);
            timed.kept_bytes_a_shard = timed.kept_bytes_a_shard.filter(|_| is_alone);
            report.line(cells(&timed), &timed)?;
        }
    }
    Ok(report)
}

fn one(mode: Mode, (shards, hosts): (usize, usize), asked_ms: f64, runs: usize) -> Timed {
    let planner = Planner::new(mode).with_budget(1.0);
    let (view, now) = (start(shards, hosts), Time::from_millis(1_000_000));
    let bytes_a_shard = |bytes: u64| bytes as f64 / shards as f64;
    let before = Memory::reset();
    let grown = |of: fn(Memory) -> u64| Some(of(Memory::now()?).saturating_sub(before?.held));
    let mut kept = Ledger::of(&view, planner.policy);
    let held = grown(|memory| memory.held);
    let steps = steps(&kept.plan(now, Scope::Full).moves);
    let peak = grown(|memory| memory.peak);
    drop(kept);
    let plan = median(runs, || planner.cycle(now, &view));
    let mut view = view;
    apply(&mut view, &steps, now);
    let gap_points = gap(&balance(&view), &bound(&view));
    let now = settle(&planner, &mut view, now);
    let kept = Ledger::of(&view, planner.policy);
    let cycle_after = |changed| cycle_after(kept.clone(), &view, now, changed, runs);
    Timed {
        mode: mode.as_str(),
        shards,
        hosts,
        plan_ms: millis(plan),
        gap_points,
        change_ms: cycle_after(shards / 100),
        ten_ms: cycle_after(10),
        still_ms: cycle_after(0),
        bytes_a_shard: peak.map(bytes_a_shard),
        kept_bytes_a_shard: held.map(bytes_a_shard),
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

/// The median time of a cycle after so many loads have changed.
fn cycle_after(mut kept: Ledger, view: &View, now: Time, changed: usize, runs: usize) -> f64 {
    let _ = kept.plan(now, Scope::Full);
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let took = median(runs, || {
        for (index, load) in changes(view, changed, &mut rng) {
            kept.set_load(index, load);
        }
        kept.plan(now, Scope::Full)
    });
    millis(took)
}

/// So many loads that have grown or shrunk by up to a tenth.
fn changes<'a>(
    view: &'a View,
    count: usize,
    rng: &'a mut Pcg64Mcg,
) -> impl Iterator<Item = (ShardIndex, Load)> + 'a {
    let stride = view.shards.len() / count.max(1);
    (0..count).map(move |place| {
        let index = place * stride;
        let load = view.shards[index].load.map_or(1.0, |load| load.smoothed);
        (ShardIndex(index as u32), Load::exactly(load * rng.random_range(0.9..1.1)))
    })
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
        format!("{:.3}", timed.ten_ms),
        format!("{:.5}", timed.still_ms),
        bytes(timed.bytes_a_shard),
        bytes(timed.kept_bytes_a_shard),
    ]
}

fn bytes(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| "-".into(), |bytes| format!("{bytes:.0}"))
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
        let mut rng = Pcg64Mcg::seed_from_u64(2);
        let changed: Vec<_> = changes(&before, 10, &mut rng).collect();
        let is_new = |&(index, load): &(ShardIndex, Load)| {
            before.shards[index.0 as usize].load != Some(load)
        };
        assert_eq!(changed.iter().filter(|it| is_new(it)).count(), 10);
    }

    #[test]
    fn what_is_timed_is_a_plan_that_helps() {
        let timed = one(Mode::ADAPTIVE, (500, 10), 1.0, 1);
        let start = gap(&balance(&start(500, 10)), &bound(&start(500, 10)));
        assert!(timed.gap_points < start, "{timed:?}");
        assert!(timed.plan_ms > 0.0 && timed.change_ms > 0.0);
    }
}
