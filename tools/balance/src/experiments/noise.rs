//! Nothing happens but noise and a slow drift, for a day: what a planner moves
//! then it moves for nothing.
//!
//! Every report is off by a normal error of 30 % of the load; the load itself
//! swings over the day, by 10 % from its least to its most, each shard at its own
//! hour.

use std::f64::consts::TAU;

use anyhow::Result;
use clap::Args;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::snapshot::generate::{Size, generate};
use plimsoll_placement::time::Time;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::mode::{Mode, Planner};
use crate::report::Report;
use crate::rest::{PERIOD, run_to_rest};
use crate::simulate::Cluster;
use crate::world::{Moved, shard_loads};

/// How the experiment is run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(long, default_value_t = 24.0)]
    pub hours: f64,
    #[arg(long, default_value_t = 1000)]
    pub shards: usize,
    #[arg(long, default_value_t = 20)]
    pub hosts: usize,
    /// Standard deviation of one report, as a part of the load
    #[arg(long, default_value_t = 0.3)]
    pub noise: f64,
    /// From the least to the most of a load over a day, as a part of it
    #[arg(long, default_value_t = 0.1)]
    pub drift: f64,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Noisy {
    mode: &'static str,
    moves: usize,
    moves_per_1000_shards_and_hour: f64,
    mean_max_over_mean: f64,
    worst_max_over_mean: f64,
    mean_gap_points: f64,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let modes = super::modes(&options.mode, &[Mode::GREEDY, Mode::ADAPTIVE])?;
    let columns = [
        "mode",
        "moves",
        "per 1,000 shards and hour",
        "mean max/mean",
        "worst max/mean",
        "mean gap",
    ];
    let title = format!(
        "{} h of noise of {:.0} % and a drift of {:.0} % a day; {} shards on {} hosts, a report a second, from rest.",
        options.hours,
        options.noise * 100.0,
        options.drift * 100.0,
        options.shards,
        options.hosts
    );
    let mut report = Report::new(title, &columns);
    for mode in modes {
        let noisy = one(options, mode)?;
        report.line(cells(&noisy), &noisy)?;
    }
    Ok(report)
}

fn one(options: &Options, mode: Mode) -> Result<Noisy> {
    eprintln!("{} ...", mode.as_str());
    let size = Size { shards: Some(options.shards), hosts: Some(options.hosts) };
    let start = generate("lognormal-1", options.seed, size)?.view();
    let planner = Planner::new(mode);
    let rest = run_to_rest(&planner, start, Time::ZERO);
    let mut world = World::new(Cluster::new(rest.view, planner), rest.now, options);
    // Until averages are full, what is measured is the start and not the noise.
    world.pass(600, options);
    world.cluster.moved = Moved::default();
    let (mut hottest, mut gaps, mut worst) = (0.0, 0.0, 0.0_f64);
    let minutes = (options.hours * 60.0) as u64;
    for _ in 0..minutes {
        world.pass(60, options);
        let balance = world.cluster.balance();
        hottest += balance.max_over_mean();
        worst = worst.max(balance.max_over_mean());
        gaps += (balance.spread - world.cluster.bound().spread) * 100.0;
    }
    let moves = world.cluster.moved.moves;
    Ok(Noisy {
        mode: mode.as_str(),
        moves,
        moves_per_1000_shards_and_hour: moves as f64
            / (options.shards as f64 / 1000.0 * options.hours),
        mean_max_over_mean: hottest / minutes as f64,
        worst_max_over_mean: worst,
        mean_gap_points: gaps / minutes as f64,
    })
}

struct World {
    cluster: Cluster,
    now: Time,
    bases: Vec<f64>,
    /// Of each shard's day, as a part of a turn.
    phases: Vec<f64>,
    rng: Pcg64Mcg,
}

impl World {
    fn new(cluster: Cluster, now: Time, options: &Options) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(options.seed);
        let bases = shard_loads(&cluster.view);
        let phases = bases.iter().map(|_| rng.random()).collect();
        Self { cluster, now, bases, phases, rng }
    }

    fn pass(&mut self, seconds: u64, options: &Options) {
        for _ in 0..seconds {
            self.now += PERIOD;
            let days = self.now.as_nanos() as f64 / 86_400e9;
            let shards = self.bases.iter().zip(&self.phases);
            let truth = shards.map(|(base, phase)| {
                base * (1.0 + options.drift / 2.0 * (TAU * (days + phase)).sin())
            });
            self.cluster.truth = truth.collect();
            let rng = &mut self.rng;
            self.cluster.report(self.now, |load| {
                let error: f64 = rng.sample(StandardNormal);
                load * (1.0 + options.noise * error)
            });
            self.cluster.cycle(self.now, Scope::Full);
        }
    }
}

fn cells(noisy: &Noisy) -> Vec<String> {
    vec![
        noisy.mode.into(),
        noisy.moves.to_string(),
        format!("{:.2}", noisy.moves_per_1000_shards_and_hour),
        format!("{:.3}", noisy.mean_max_over_mean),
        format!("{:.3}", noisy.worst_max_over_mean),
        format!("{:.2}", noisy.mean_gap_points),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_noise_and_drift_nothing_moves() {
        let options = Options {
            hours: 0.2,
            shards: 200,
            hosts: 8,
            noise: 0.0,
            drift: 0.0,
            seed: 1,
            mode: Vec::new(),
        };
        for mode in [Mode::GREEDY, Mode::ADAPTIVE] {
            assert_eq!(one(&options, mode).unwrap().moves, 0, "{mode:?}");
        }
    }
}
