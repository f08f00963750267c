//! A rolling restart: every host goes once and comes back empty, one at a time.
//!
//! Three ways: hosts say goodbye and balance goes on; the same with balance
//! frozen, as an operator would who knows; and hosts that are back before their
//! lease has run out, which nobody should notice. How often a shard moves, and
//! how hot the hottest host is meanwhile, over the mean of the hosts that are up.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::snapshot::generate::{Size, generate};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::Candidacy;
use serde::Serialize;

use crate::mode::{Mode, Planner};
use crate::report::{Chart, Curve, Curves, Report};
use crate::rest::{PERIOD, run_to_rest};
use crate::simulate::Cluster;
use crate::world::{reopen, shard_loads};

/// How the experiment is run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(long, default_value_t = 20)]
    pub hosts: usize,
    #[arg(long, default_value_t = 1024)]
    pub shards: usize,
    /// How long a host is away, in seconds
    #[arg(long, default_value_t = 10)]
    pub away: u64,
    /// From one host's return to the next one's goodbye, in seconds
    #[arg(long, default_value_t = 5)]
    pub pause: u64,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Goodbye,
    Frozen,
    WithinLease,
}

#[derive(Debug, Serialize)]
struct Restarted {
    mode: &'static str,
    way: &'static str,
    moves_a_shard: f64,
    /// Of any moment of it.
    worst_max_over_mean: f64,
    /// Once all is over and at rest again.
    end_max_over_mean: f64,
    #[serde(skip)]
    curve: Vec<(f64, f64)>,
}

const USUAL: [Mode; 4] = [Mode::RING, Mode::GREEDY, Mode::ADAPTIVE, Mode::Dicer];

pub(super) fn run(options: &Options) -> Result<Report> {
    let modes = super::modes(&options.mode, &USUAL)?;
    let columns = ["mode", "way", "moves a shard", "worst max/mean", "max/mean at the end"];
    let title = format!(
        "Every one of {} hosts restarts in turn, {} s away and {} s between; {} shards, from rest.",
        options.hosts, options.away, options.pause, options.shards
    );
    let mut report = Report::new(title, &columns);
    let mut curves = Vec::new();
    for mode in modes {
        for way in [Way::Goodbye, Way::Frozen, Way::WithinLease] {
            if matches!(mode, Mode::Ours(_)) || way == Way::Goodbye {
                let restarted = one(options, mode, way)?;
                report.line(cells(&restarted), &restarted)?;
                let name = format!("{}, {}", restarted.mode, restarted.way);
                curves.push(Curve { name, points: restarted.curve });
            }
        }
    }
    report.chart = Some(Chart::Curves(Curves {
        title: "Hottest host over the mean during a rolling restart".into(),
        x: "seconds".into(),
        y: "over the mean".into(),
        curves: curves.into_iter().filter(|curve| !curve.name.contains("lease")).collect(),
    }));
    Ok(report)
}

fn one(options: &Options, mode: Mode, way: Way) -> Result<Restarted> {
    eprintln!("{}: {} ...", mode.as_str(), way.as_str());
    let size = Size { shards: Some(options.shards), hosts: Some(options.hosts) };
    let start = generate("lognormal-1", options.seed, size)?.view();
    let planner = Planner::new(mode);
    let rest = run_to_rest(&planner, start, Time::ZERO);
    let mut rollout = Rollout::new(Cluster::new(rest.view, planner), rest.now, way);
    for host in 0..options.hosts {
        rollout.restart(host, options);
    }
    let moves = rollout.cluster.moved.moves;
    // The operator lets balance go on.
    rollout.scope = Scope::Full;
    let settle = planner.patience() * 3 + Duration::from_secs(60);
    rollout.pass(settle.as_secs());
    let end = rollout.cluster.balance().max_over_mean();
    eprintln!("  {} more moves after the last one came back", rollout.cluster.moved.moves - moves);
    Ok(Restarted {
        mode: mode.as_str(),
        way: way.as_str(),
        moves_a_shard: rollout.cluster.moved.moves as f64 / options.shards as f64,
        worst_max_over_mean: rollout.curve.iter().map(|point| point.1).fold(0.0, f64::max),
        end_max_over_mean: end,
        curve: rollout.curve,
    })
}

struct Rollout {
    cluster: Cluster,
    began: Time,
    now: Time,
    way: Way,
    scope: Scope,
    curve: Vec<(f64, f64)>,
}

impl Rollout {
    fn new(mut cluster: Cluster, now: Time, way: Way) -> Self {
        cluster.truth = shard_loads(&cluster.view);
        cluster.moved = crate::world::Moved::default();
        let scope = if way == Way::Frozen { Scope::Frozen } else { Scope::Full };
        Self { cluster, began: now, now, way, scope, curve: Vec::new() }
    }

    fn restart(&mut self, host: usize, options: &Options) {
        self.cluster.view.executors[host].candidacy = match self.way {
            Way::Goodbye | Way::Frozen => Candidacy::Leaving,
            Way::WithinLease => Candidacy::Silent,
        };
        // A lease of two seconds is over sooner than most restarts.
        let away = if self.way == Way::WithinLease { 1 } else { options.away };
        self.pass(away);
        if self.way == Way::WithinLease {
            self.cluster.view.executors[host].candidacy = Candidacy::Open;
        }
        reopen(&mut self.cluster.view.executors[host], self.now);
        self.pass(options.pause);
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += PERIOD;
            self.cluster.report(self.now, |load| load);
            self.cluster.cycle(self.now, self.scope);
            let since = (self.now - self.began).as_secs_f64();
            self.curve.push((since, self.cluster.balance().max_over_mean()));
        }
    }
}

impl Way {
    fn as_str(self) -> &'static str {
        match self {
            Self::Goodbye => "goodbye",
            Self::Frozen => "balance frozen",
            Self::WithinLease => "back within its lease",
        }
    }
}

fn cells(restarted: &Restarted) -> Vec<String> {
    vec![
        restarted.mode.into(),
        restarted.way.into(),
        format!("{:.2}", restarted.moves_a_shard),
        format!("{:.3}", restarted.worst_max_over_mean),
        format!("{:.3}", restarted.end_max_over_mean),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Options =
        Options { hosts: 6, shards: 120, away: 5, pause: 5, seed: 1, mode: Vec::new() };

    #[test]
    fn every_shard_moves_at_least_once_when_every_host_says_goodbye() {
        for mode in [Mode::GREEDY, Mode::ADAPTIVE] {
            let restarted = one(&SMALL, mode, Way::Goodbye).unwrap();
            assert!(restarted.moves_a_shard >= 0.9, "{restarted:?}");
            assert!(restarted.worst_max_over_mean >= 1.0, "{restarted:?}");
        }
    }

    #[test]
    fn nobody_notices_a_host_that_is_back_within_its_lease() {
        for mode in [Mode::RING, Mode::GREEDY, Mode::ADAPTIVE] {
            let restarted = one(&SMALL, mode, Way::WithinLease).unwrap();
            assert_eq!(restarted.moves_a_shard, 0.0, "{mode:?}");
        }
    }
}
