//! CockroachDB's skewed-CPU scenario, re-created, and its measure of thrash.
//!
//! Six hosts, 36 shards that are read hard on the first half of them, 36 that are
//! written on the other half, 200 cold ones everywhere, for 25 minutes. Reads cost
//! ten times what writes do. There it is a matter of two metrics; here one load.
//!
//! Trend-discounted total variation: of a host's load over time, `up` is the sum
//! of all rises and `down` of all falls. With `a = (min / max)^0.8` of the two,
//! `a (up + down) + (1 - a) min(up, down)` over the range of the load: 0 for one
//! that only rises or only falls, large for one that swings. Summed over hosts.

use anyhow::Result;
use clap::Args;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, ShardView, View};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::mode::{Mode, Planner};
use crate::report::{Chart, Curve, Curves, Report};
use crate::rest::PERIOD;
use crate::simulate::Cluster;
use crate::world::host_loads;

const HOSTS: usize = 6;
const SECONDS: u64 = 25 * 60;
/// What one shard of each kind carries: read, written, cold.
const LOADS: [f64; 3] = [100.0, 10.0, 1.0];
/// How often hosts are looked at, in seconds.
const SAMPLE: u64 = 10;

/// How the experiment is run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Standard deviation of one report, as a part of the load
    #[arg(long, default_value_t = 0.05)]
    pub noise: f64,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Thrash {
    mode: &'static str,
    /// Summed over hosts, in hundredths.
    thrash_percent: f64,
    worst_host_percent: f64,
    moves: usize,
    start_max_over_mean: f64,
    end_max_over_mean: f64,
    #[serde(skip)]
    hosts: Vec<Vec<f64>>,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let usual = [
        Mode::Ours(plimsoll_placement::policy::Mode::Naive),
        Mode::GREEDY,
        Mode::ADAPTIVE,
        Mode::DicerTight,
    ];
    let modes = super::modes(&options.mode, &usual)?;
    let columns = ["mode", "thrash %", "worst host %", "moves", "max/mean before", "after"];
    let title = "25 minutes of skewed CPU on six hosts; thrash summed over hosts (CockroachDB: 128 %, before that 983 %).";
    let mut report = Report::new(title, &columns);
    for mode in modes {
        let thrash = one(options, mode);
        report.line(cells(&thrash), &thrash)?;
        if mode == Mode::ADAPTIVE || report.chart.is_none() {
            report.chart = Some(chart(&thrash));
        }
    }
    Ok(report)
}

fn one(options: &Options, mode: Mode) -> Thrash {
    eprintln!("{} ...", mode.as_str());
    let (view, truth) = scenario();
    let mut cluster = Cluster::new(view, Planner::new(mode));
    cluster.truth = truth;
    let start = cluster.balance().max_over_mean();
    let mut rng = Pcg64Mcg::seed_from_u64(options.seed);
    let start_loads = host_loads(&cluster.view, cluster.truth.iter().copied());
    let mut hosts: Vec<Vec<f64>> = start_loads.into_iter().map(|load| vec![load]).collect();
    for second in 1..=SECONDS {
        let now = Time::ZERO + PERIOD * second as u32;
        cluster.report(now, |load| {
            let error: f64 = rng.sample(StandardNormal);
            load * (1.0 + options.noise * error)
        });
        cluster.cycle(now, Scope::Full);
        if second % SAMPLE == 0 {
            let loads = host_loads(&cluster.view, cluster.truth.iter().copied());
            hosts.iter_mut().zip(loads).for_each(|(host, load)| host.push(load));
        }
    }
    let each: Vec<f64> = hosts.iter().map(|loads| 100.0 * tdtv(loads)).collect();
    Thrash {
        mode: mode.as_str(),
        thrash_percent: each.iter().sum(),
        worst_host_percent: each.into_iter().fold(0.0, f64::max),
        moves: cluster.moved.moves,
        start_max_over_mean: start,
        end_max_over_mean: cluster.balance().max_over_mean(),
        hosts,
    }
}

fn scenario() -> (View, Vec<f64>) {
    let executor = |host: usize| ExecutorView::new(format!("host-{host}"), Candidacy::Open);
    let read = (0..36).map(|n| (n % 3, LOADS[0]));
    let written = (0..36).map(|n| (3 + n % 3, LOADS[1]));
    let cold = (0..200).map(|n| (n % 6, LOADS[2]));
    let all: Vec<(u32, f64)> = read.chain(written).chain(cold).collect();
    let shard = |(key, &(host, _)): (usize, &(u32, f64))| ShardView {
        owner: Some(ExecutorIndex(host)),
        ..ShardView::new(key_hash(&key.to_string()))
    };
    let view = View {
        executors: (0..HOSTS).map(executor).collect(),
        shards: all.iter().enumerate().map(shard).collect(),
    };
    (view, all.into_iter().map(|(_, load)| load).collect())
}

/// Trend-discounted total variation over the range; 0 for a load that is flat.
pub fn tdtv(loads: &[f64]) -> f64 {
    let steps = loads.windows(2).map(|pair| pair[1] - pair[0]);
    let (up, down) = steps
        .fold((0.0_f64, 0.0_f64), |(up, down), step| (up + step.max(0.0), down + (-step).max(0.0)));
    let range = loads.iter().copied().fold(f64::MIN, f64::max)
        - loads.iter().copied().fold(f64::MAX, f64::min);
    if up.max(down) <= 0.0 {
        return 0.0;
    }
    let both_ways = (up.min(down) / up.max(down)).powf(0.8);
    (both_ways * (up + down) + (1.0 - both_ways) * up.min(down)) / range
}

fn chart(thrash: &Thrash) -> Chart {
    let curve = |(host, loads): (usize, &Vec<f64>)| Curve {
        name: format!("host {host}"),
        points: (0..)
            .map(|n: u32| f64::from(n) * SAMPLE as f64 / 60.0)
            .zip(loads.iter().copied())
            .collect(),
    };
    Chart::Curves(Curves {
        title: format!("Skewed CPU on six hosts, {}", thrash.mode),
        x: "minutes".into(),
        y: "load of the host".into(),
        curves: thrash.hosts.iter().enumerate().map(curve).collect(),
    })
}

fn cells(thrash: &Thrash) -> Vec<String> {
    vec![
        thrash.mode.into(),
        format!("{:.0}", thrash.thrash_percent),
        format!("{:.0}", thrash.worst_host_percent),
        thrash.moves.to_string(),
        format!("{:.3}", thrash.start_max_over_mean),
        format!("{:.3}", thrash.end_max_over_mean),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_only_rises_or_only_falls_does_not_thrash() {
        assert_eq!(tdtv(&[1.0, 2.0, 5.0, 9.0]), 0.0);
        assert_eq!(tdtv(&[9.0, 9.0, 2.0]), 0.0);
        assert_eq!(tdtv(&[3.0, 3.0]), 0.0);
        assert_eq!(tdtv(&[]), 0.0);
    }

    #[test]
    fn there_and_back_counts_in_full() {
        // up = down = 4, so a = 1: 8 over a range of 4.
        assert_eq!(tdtv(&[1.0, 5.0, 1.0]), 2.0);
        assert_eq!(tdtv(&[1.0, 5.0, 1.0, 5.0, 1.0]), 4.0);
    }

    #[test]
    fn a_step_back_on_the_way_is_discounted() {
        // up = 10, down = 1: a = 0.1^0.8.
        let a = 0.1_f64.powf(0.8);
        let expected = (a * 11.0 + (1.0 - a)) / 9.0;
        assert!((tdtv(&[0.0, 5.0, 4.0, 9.0]) - expected).abs() < 1e-12);
    }

    #[test]
    fn the_scenario_is_skewed_on_half_of_the_hosts() {
        let (view, truth) = scenario();
        let loads = host_loads(&view, truth);
        assert!(loads[..3].iter().all(|&load| load > 1200.0));
        assert!(loads[3..].iter().all(|&load| load < 160.0));
    }

    #[test]
    fn who_moves_nothing_does_not_thrash() {
        let options = Options { noise: 0.05, seed: 1, mode: Vec::new() };
        let golem = one(&options, Mode::Golem);
        assert_eq!((golem.moves, golem.thrash_percent), (0, 0.0));
    }
}
