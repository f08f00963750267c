//! The hottest host goes: who gets what it had, and what else is moved for it.
//!
//! Every mode starts from its own rest, so that what is measured is the drain.

use anyhow::Result;
use clap::Args;
use plimsoll_placement::time::Time;
use serde::Serialize;

use crate::measure::share;
use crate::mode::{Mode, Planner};
use crate::report::Report;
use crate::rest::run_to_rest;
use crate::source::{Named, Source};
use crate::world::{balance, bound, drain, hottest, shard_loads};

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
        moves: after.moved.moves,
    }
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
        drained.moves.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

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
