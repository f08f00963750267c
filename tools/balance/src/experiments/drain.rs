//! The hottest host goes: who gets what it had, and what else is moved for it.
//!
//! Every mode starts from its own rest, so that what is measured is the drain.
//!
//! A shard that is larger than what its next host has room for drives out others.
//! Those moves are not forced one by one, but without them no plan could end where
//! the goal is: the least of that load is given beside the load of unforced moves.

use anyhow::Result;
use clap::Args;
use plimsoll_placement::measures::lower_bound;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, ShardView, View};
use serde::Serialize;

use crate::measure::share;
use crate::mode::{Mode, Planner};
use crate::report::Report;
use crate::rest::run_to_rest;
use crate::source::{Named, Source};
use crate::world::{balance, bound, drain, host_loads, hottest, shard_loads};

/// How far above the least possible the hottest survivor may be.
const GOAL: f64 = 1.02;

/// How the experiment is run.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    #[command(flatten)]
    pub source: Source,
    /// Only these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Drained {
    snapshot: String,
    mode: String,
    /// Hottest survivor over the mean of survivors.
    max_over_mean: f64,
    /// The least that is possible.
    bound_max_over_mean: f64,
    spread_points: f64,
    bound_points: f64,
    /// Load of shards that had to move, as a part of all.
    forced_share: f64,
    /// Load of shards that moved and did not have to, as a part of all.
    unforced_share: f64,
    /// Unforced load that every plan moves which ends within [`GOAL`].
    unavoidable_share: f64,
    moves: usize,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let (all, modes) = (options.source.load()?, super::modes(&options.mode, &Mode::ALL)?);
    let columns = [
        "snapshot",
        "mode",
        "max/mean",
        "least",
        "spread",
        "bound",
        "forced %",
        "unforced %",
        "unavoidable %",
        "moves",
    ];
    let title = "The hottest host is drained; survivors at rest after it, from each mode's own rest before it.";
    let mut report = Report::new(title, &columns);
    for named in &all {
        for &mode in &modes {
            let drained = one(named, mode);
            report.line(cells(&drained), &drained)?;
        }
    }
    Ok(report)
}

fn one(named: &Named, mode: Mode) -> Drained {
    eprintln!("{}: {} ...", named.name, mode.as_str());
    let planner = Planner::new(mode);
    let before = run_to_rest(&planner, named.snapshot.view(), Time::ZERO);
    let mut view = before.view;
    if let Some(host) = hottest(&view) {
        drain(&mut view, host);
    }
    let unavoidable = unavoidable(&view);
    let after = run_to_rest(&planner, view, before.now);
    let total: f64 = shard_loads(&after.view).iter().sum();
    let (balance, bound) = (balance(&after.view), bound(&after.view));
    Drained {
        snapshot: named.name.clone(),
        mode: mode.as_str().into(),
        max_over_mean: balance.max_over_mean(),
        bound_max_over_mean: bound.max_over_mean,
        spread_points: balance.spread * 100.0,
        bound_points: bound.spread * 100.0,
        forced_share: share(after.moved.load - after.moved.unforced, total),
        unforced_share: share(after.moved.unforced, total),
        unavoidable_share: share(unavoidable, total),
        moves: after.moved.moves,
    }
}

/// The largest shard that must go has to be put on some host, which may then carry
/// no more than the goal allows: what must leave the host where that is least.
fn unavoidable(drained: &View) -> f64 {
    let loads = shard_loads(drained);
    let is_open =
        |executor: &ExecutorIndex| drained.executors[executor.0 as usize].candidacy.is_open();
    let must_go = |shard: &ShardView| !shard.owner.as_ref().is_some_and(is_open);
    let homeless = drained.shards.iter().zip(&loads).filter(|(shard, _)| must_go(shard));
    let largest = homeless.map(|(_, &load)| load).fold(0.0, f64::max);
    let open = (0..drained.executors.len() as u32).map(ExecutorIndex).filter(is_open);
    let hosts: Vec<f64> = {
        let all = host_loads(drained, loads.iter().copied());
        open.map(|host| all[host.0 as usize]).collect()
    };
    let mean = loads.iter().sum::<f64>() / hosts.len() as f64;
    let most = GOAL * mean * bound_if_placed(&loads, hosts.len());
    hosts.iter().map(|load| (load + largest - most).max(0.0)).fold(f64::INFINITY, f64::min)
}

/// The least that the hottest of so many hosts carries over the mean, with every
/// shard on one of them.
fn bound_if_placed(loads: &[f64], hosts: usize) -> f64 {
    lower_bound(loads.iter().copied(), hosts).max_over_mean
}

fn cells(drained: &Drained) -> Vec<String> {
    vec![
        drained.snapshot.clone(),
        drained.mode.clone(),
        format!("{:.3}", drained.max_over_mean),
        format!("{:.3}", drained.bound_max_over_mean),
        format!("{:.2}", drained.spread_points),
        format!("{:.2}", drained.bound_points),
        format!("{:.1}", drained.forced_share * 100.0),
        format!("{:.2}", drained.unforced_share * 100.0),
        format!("{:.2}", drained.unavoidable_share * 100.0),
        drained.moves.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;

    #[test]
    fn what_a_giant_drives_out_of_its_next_host_is_unavoidable() {
        // 10 must go to one of two that can carry 10.5 each.
        let mut drained = view(&[&[10.0], &[2.0, 2.0], &[3.0, 4.0]]);
        drain(&mut drained, ExecutorIndex(0));
        assert!((unavoidable(&drained) - (4.0 + 10.0 - 1.02 * 10.5)).abs() < 1e-9);
        let mut light = view(&[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 1.0]]);
        drain(&mut light, ExecutorIndex(0));
        assert_eq!(unavoidable(&light), 0.0);
    }

    #[test]
    fn what_the_host_had_is_forced_and_counted_apart() {
        let source =
            Source { generate: Some(5), only: vec!["pareto-1.5".into()], ..Source::default() };
        let named = &source.load().unwrap()[0];
        for mode in [Mode::GREEDY, Mode::ADAPTIVE, Mode::Golem, Mode::Dicer] {
            let drained = one(named, mode);
            // 30 hosts: the hottest has a thirtieth of the load, or more.
            assert!((0.03..0.10).contains(&drained.forced_share), "{drained:?}");
            assert!(drained.unforced_share < 0.10, "{drained:?}");
            assert!(drained.max_over_mean >= drained.bound_max_over_mean - 1e-9, "{drained:?}");
        }
    }
}
