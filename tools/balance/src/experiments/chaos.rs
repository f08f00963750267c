//! Dicer's random placement test: 1,000 rounds, each with other hosts up, another
//! total load and other loads altogether; how far the hottest host is above what
//! can be attained.
//!
//! Per round 6 to 8 of 8 hosts, a total of 0 to 120 % of 1,000 a host, 128 shards
//! of which the largest carries at most four times the smallest, and by a coin
//! one more that carries half of everything (two that carry a quarter each in
//! the second test). A round lasts a minute, as Dicer's interval does.
//!
//! Dicer splits and replicates a hot key. Here a shard is a shard: one above a
//! fair share pins its host, whatever is done. So every host is measured against
//! its place in the water-filled bound, hottest against hottest, and the worst
//! of them counts, as a part of the mean or of 1,000 if that is more, as in
//! Dicer's test.

use anyhow::Result;
use clap::Args;
use plimsoll_placement::measures::Sum;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorView, Load, ShardView, View};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::measure::percentile;
use crate::mode::{Mode, Planner};
use crate::report::Report;
use crate::rest::{PERIOD, run_for};
use crate::world::{open, open_hosts, reopen, shard_loads};

const HOSTS: usize = 8;
const SHARDS: usize = 128;
const LOAD_HINT: f64 = 1000.0;
const CYCLES: u32 = 60;

/// Parts of the sorted deviations, and what Dicer's test allows there.
const BOUNDS: [(f64, &str, &str); 6] = [
    (0.10, "p10", "1"),
    (0.50, "p50", "2"),
    (0.90, "p90", "3"),
    (0.95, "p95", "4"),
    (0.99, "p99", "35"),
    (1.00, "max", "70"),
];

/// How the experiment is run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many seeds
    #[arg(long, default_value_t = 20)]
    pub seeds: u64,
    /// Rounds a seed
    #[arg(long, default_value_t = 1000)]
    pub rounds: usize,
    /// Only these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
}

#[derive(Serialize)]
struct Record {
    mode: String,
    hot_keys: usize,
    percentile: &'static str,
    deviation_percent: f64,
    allowed_percent: &'static str,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let modes = super::modes(&options.mode, &[Mode::GREEDY, Mode::ADAPTIVE, Mode::DicerTight])?;
    let columns = ["mode", "hot keys", "p10", "p50", "p90", "p95", "p99", "max", "moves a round"];
    let title = format!(
        "Largest excess of a host over what can be attained, in % of the mean or of the hint: {} seeds of {} rounds.",
        options.seeds, options.rounds
    );
    let mut report = Report::new(title, &columns);
    for hot_keys in [1, 2] {
        for &mode in &modes {
            eprintln!("{} with {hot_keys} hot keys ...", mode.as_str());
            let (sorted, moves) = deviations(mode, hot_keys, options);
            let mut row = vec![mode.as_str().to_owned(), hot_keys.to_string()];
            row.extend(
                BOUNDS.map(|(part, ..)| format!("{:.2}", 100.0 * percentile(&sorted, part))),
            );
            row.push(format!("{moves:.1}"));
            report.table.row(row);
            report.json.extend(records(mode, hot_keys, &sorted)?);
        }
    }
    let mut allowed = vec!["allowed by Dicer".to_owned(), "1".to_owned()];
    allowed.extend(BOUNDS.map(|(.., allowed)| allowed.to_owned()));
    report.table.row(allowed);
    Ok(report)
}

fn records(mode: Mode, hot_keys: usize, sorted: &[f64]) -> Result<Vec<serde_json::Value>> {
    let record = |(part, percentile_name, allowed_percent)| Record {
        mode: mode.as_str().to_owned(),
        hot_keys,
        percentile: percentile_name,
        deviation_percent: 100.0 * percentile(sorted, part),
        allowed_percent,
    };
    BOUNDS.map(record).iter().map(|it| Ok(serde_json::to_value(it)?)).collect()
}

/// Over all seeds and rounds, sorted; and the mean number of moves a round.
fn deviations(mode: Mode, hot_keys: usize, options: &Options) -> (Vec<f64>, f64) {
    let (mut all, mut moves) = (Vec::new(), 0);
    for seed in 1..=options.seeds {
        let mut chaos = Chaos::new(seed, hot_keys);
        for _ in 0..options.rounds {
            all.push(chaos.round(&Planner::new(mode)));
        }
        moves += chaos.moves;
    }
    all.sort_by(f64::total_cmp);
    let rounds = all.len().max(1) as f64;
    (all, moves as f64 / rounds)
}

struct Chaos {
    view: View,
    now: Time,
    rng: Pcg64Mcg,
    hot_keys: usize,
    moves: usize,
}

impl Chaos {
    /// Nothing is placed yet: the first round does it.
    fn new(seed: u64, hot_keys: usize) -> Self {
        let executor = |host: usize| ExecutorView::new(format!("host-{host}"), Candidacy::Open);
        let shard = |key: usize| ShardView::new(key_hash(&key.to_string()));
        let view = View {
            executors: (0..HOSTS).map(executor).collect(),
            shards: (0..SHARDS + hot_keys).map(shard).collect(),
        };
        let rng = Pcg64Mcg::seed_from_u64(seed);
        Self { view, now: Time::ZERO, rng, hot_keys, moves: 0 }
    }

    /// Another world for a minute; the deviation at its end.
    fn round(&mut self, planner: &Planner) -> f64 {
        self.pick_hosts();
        self.pick_loads();
        let rest = run_for(planner, std::mem::take(&mut self.view), self.now, CYCLES);
        (self.view, self.now) = (rest.view, self.now + CYCLES * PERIOD);
        self.moves += rest.moved.moves;
        deviation(&self.view)
    }

    fn pick_hosts(&mut self) {
        let mut up = [true; HOSTS];
        let down = HOSTS - self.rng.random_range(6..=HOSTS);
        up[..down].fill(false);
        up.shuffle(&mut self.rng);
        for (executor, is_up) in self.view.executors.iter_mut().zip(up) {
            if is_up {
                reopen(executor, self.now);
            } else {
                executor.candidacy = Candidacy::Leaving;
            }
        }
    }

    fn pick_loads(&mut self) {
        let total = self.rng.random_range(0.0..1.2) * LOAD_HINT * open(&self.view).len() as f64;
        let hot = if self.rng.random() { 0.5 * total } else { 0.0 };
        let densities: Vec<f64> = (0..SHARDS).map(|_| self.rng.random_range(1.0..4.0)).collect();
        let unit = (total - hot) / densities.iter().copied().collect::<Sum>().value();
        let usual = densities.iter().map(|density| density * unit);
        let keys = std::iter::repeat_n(hot / self.hot_keys as f64, self.hot_keys);
        for (shard, load) in self.view.shards.iter_mut().zip(usual.chain(keys)) {
            shard.load = Some(Load::exactly(load));
        }
    }
}

/// The most by which a host is above its place in the water-filled bound.
fn deviation(view: &View) -> f64 {
    let mut loads: Vec<f64> =
        open_hosts(view, shard_loads(view)).into_iter().map(|(load, _)| load).collect();
    loads.sort_by(|a, b| b.total_cmp(a));
    let mean = loads.iter().copied().collect::<Sum>().value() / loads.len().max(1) as f64;
    let bound = filled(&shard_loads(view), loads.len());
    let excess = loads.iter().zip(bound).map(|(load, bound)| load - bound).fold(0.0, f64::max);
    excess / mean.max(LOAD_HINT)
}

/// Host loads, largest first, that bound any placement of these shards on equal
/// hosts: shards above the fair share of what is left pin a host each, the rest
/// is spread perfectly.
fn filled(loads: &[f64], hosts: usize) -> Vec<f64> {
    let mut loads = loads.to_vec();
    loads.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut rest = loads.iter().copied().collect::<Sum>().value();
    let mut filled = Vec::with_capacity(hosts);
    for load in loads {
        if filled.len() + 1 >= hosts || load * (hosts - filled.len()) as f64 <= rest {
            break;
        }
        filled.push(load);
        rest -= load;
    }
    let free = hosts - filled.len();
    filled.extend(std::iter::repeat_n(rest / free.max(1) as f64, free));
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;

    const SHORT: Options = Options { seeds: 2, rounds: 10, mode: Vec::new() };

    #[test]
    fn a_seed_decides_everything() {
        let once = deviations(Mode::GREEDY, 1, &SHORT);
        assert_eq!(once, deviations(Mode::GREEDY, 1, &SHORT));
        assert_eq!(once.0.len(), 20);
        assert_ne!(once, deviations(Mode::GREEDY, 1, &Options { seeds: 1, ..SHORT }));
    }

    #[test]
    fn every_shard_is_on_an_open_host_after_a_round() {
        let mut chaos = Chaos::new(3, 2);
        for _ in 0..5 {
            chaos.round(&Planner::new(Mode::ADAPTIVE));
            let open = open(&chaos.view);
            assert!(chaos.view.shards.iter().all(|it| it.owner.is_some_and(|o| open.contains(&o))));
        }
    }

    #[test]
    fn large_shards_pin_hosts_and_the_rest_is_level() {
        assert_eq!(filled(&[10.0, 6.0, 1.0, 1.0, 1.0, 1.0], 4), [10.0, 6.0, 2.0, 2.0]);
        assert_eq!(filled(&[1.0; 12], 4), [3.0; 4]);
        assert_eq!(filled(&[], 2), [0.0, 0.0]);
    }

    #[test]
    fn a_hot_key_alone_on_its_host_is_no_deviation() {
        assert_eq!(deviation(&view(&[&[3000.0], &[600.0], &[600.0]])), 0.0);
        // 1200 on one host where 600 each could be, of a mean of 1,400.
        let uneven = deviation(&view(&[&[3000.0], &[600.0, 600.0], &[]]));
        assert!((uneven - 600.0 / 1400.0).abs() < 1e-12);
    }

    #[test]
    fn below_the_hint_the_hint_counts() {
        let uneven = deviation(&view(&[&[100.0, 100.0], &[]]));
        assert!((uneven - 0.1).abs() < 1e-12);
    }
}
