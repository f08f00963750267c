//! Hosts are added: how close they come to their share, and what is moved for it.
//!
//! Every mode starts from its own rest. A new host's fair share is what
//! water-filling leaves to a host that no single shard pins; where one does, the
//! mean is more than any other host can get.

use anyhow::Result;
use clap::Args;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, View};
use serde::Serialize;

use crate::measure::share;
use crate::mode::{Mode, Planner};
use crate::report::Report;
use crate::rest::run_to_rest;
use crate::source::{Named, Source};
use crate::world::{add_host, balance, bound, host_loads, shard_loads};

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
struct Grown {
    snapshot: String,
    mode: String,
    added: usize,
    /// The emptiest and the fullest new host over their fair share.
    least_over_share: f64,
    most_over_share: f64,
    max_over_mean: f64,
    bound_max_over_mean: f64,
    /// Moved load over the fair shares of all new hosts.
    moved_over_share: f64,
    moves: usize,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let (all, modes) = (options.source.load()?, super::modes(&options.mode, &Mode::ALL)?);
    let columns =
        ["snapshot", "mode", "added", "emptiest", "fullest", "moved", "max/mean", "least", "moves"];
    let title = "Hosts are added, at rest after it from each mode's own rest before it; emptiest and fullest new host and moved load over fair shares.";
    let mut report = Report::new(title, &columns);
    for named in &all {
        for &mode in &modes {
            for grown in both(named, mode) {
                report.line(cells(&grown), &grown)?;
            }
        }
    }
    Ok(report)
}

/// One host more, and half as many again.
fn both(named: &Named, mode: Mode) -> [Grown; 2] {
    eprintln!("{}: {} ...", named.name, mode.as_str());
    let planner = Planner::new(mode);
    let before = run_to_rest(&planner, named.snapshot.view(), Time::ZERO);
    let half = named.snapshot.hosts.len().div_ceil(2);
    [1, half].map(|added| {
        let (view, new) = grown(&before.view, added, before.now);
        let after = run_to_rest(&planner, view, before.now);
        figures(named, mode, &after.view, &new, after.moved)
    })
}

fn grown(view: &View, added: usize, now: Time) -> (View, Vec<ExecutorIndex>) {
    let mut view = view.clone();
    let new = (0..added).map(|host| add_host(&mut view, &format!("new-{host}"), now)).collect();
    (view, new)
}

fn figures(
    named: &Named,
    mode: Mode,
    view: &View,
    new: &[ExecutorIndex],
    moved: crate::world::Moved,
) -> Grown {
    let (balance, bound) = (balance(view), bound(view));
    let loads = host_loads(view, shard_loads(view));
    let shares: Vec<f64> =
        new.iter().map(|host| share(loads[host.0 as usize], bound.level)).collect();
    Grown {
        snapshot: named.name.clone(),
        mode: mode.as_str().into(),
        added: new.len(),
        least_over_share: shares.iter().copied().fold(f64::INFINITY, f64::min),
        most_over_share: shares.iter().copied().fold(0.0, f64::max),
        max_over_mean: balance.max_over_mean(),
        bound_max_over_mean: bound.max_over_mean,
        moved_over_share: share(moved.load, bound.level * new.len() as f64),
        moves: moved.moves,
    }
}

fn cells(grown: &Grown) -> Vec<String> {
    vec![
        grown.snapshot.clone(),
        grown.mode.clone(),
        grown.added.to_string(),
        format!("{:.3}", grown.least_over_share),
        format!("{:.3}", grown.most_over_share),
        format!("{:.3}", grown.moved_over_share),
        format!("{:.3}", grown.max_over_mean),
        format!("{:.3}", grown.bound_max_over_mean),
        grown.moves.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dicer_fills_a_new_host_to_its_share_and_counting_moves_a_share_of_shards() {
        let source =
            Source { generate: Some(5), only: vec!["pareto-1.5".into()], ..Source::default() };
        let named = &source.load().unwrap()[0];
        let [one, half] = both(named, Mode::Dicer);
        assert_eq!((one.added, half.added), (1, 15));
        assert!((0.95..1.1).contains(&one.least_over_share), "{one:?}");
        assert!(one.moved_over_share >= one.least_over_share - 1e-9, "{one:?}");
        let [golem, _] = both(named, Mode::Golem);
        assert!(golem.moves > 80, "{golem:?}");
    }
}
