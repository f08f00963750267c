//! The adaptive planner over hours: loads that are noisy and drift, one that
//! doubles for good, and hosts that restart one after the other.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

use plimsoll_placement::plan;
use plimsoll_placement::plan::{Plan, Scope};
use plimsoll_placement::smoothing::Estimate;
use plimsoll_placement::snapshot::generate::{Size, generate};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, View};

use super::adaptive::adaptive;
use super::rest::{apply, run_to_rest};

const DAY: f64 = 86_400.0;

/// A service whose shards report noisy loads.
struct Service {
    view: View,
    now: Time,
    /// By shard: what it really carries on average.
    levels: Vec<f64>,
    /// Deviation of a report, as a part of that.
    noise: f64,
    estimates: Vec<Option<Estimate>>,
    rng: Pcg64Mcg,
}

impl Service {
    /// At rest for its true loads, which nobody has reported yet.
    fn new(shards: usize, hosts: usize, noise: f64) -> Self {
        let size = Size { shards: Some(shards), hosts: Some(hosts) };
        let start = generate("lognormal-0.7", 1, size).unwrap().view();
        let view = run_to_rest(start, &adaptive()).view;
        let levels = view.shards.iter().map(|shard| shard.load.unwrap().smoothed).collect();
        let estimates = vec![None; shards];
        Self {
            view,
            now: Time::from_millis(2_000_000),
            levels,
            noise,
            estimates,
            rng: Pcg64Mcg::seed_from_u64(7),
        }
    }

    /// Every shard reports with noise, and drifts by 10 % a day, each at
    /// its own time of day.
    fn report(&mut self, after: Duration) {
        self.now += after;
        let seconds = self.now.since(Time::ZERO).as_secs_f64();
        for (place, shard) in self.view.shards.iter_mut().enumerate() {
            let phase = shard.key_hash as f64 / u64::MAX as f64;
            let drift = 1.0 + 0.05 * ((seconds / DAY + phase) * std::f64::consts::TAU).sin();
            let noise = 1.0 + self.noise * self.rng.sample::<f64, _>(StandardNormal);
            let report = (self.levels[place] * drift * noise).max(0.0);
            let time_constant = adaptive().load_smoothing_time_constant();
            let estimate = Estimate::after(self.estimates[place], self.now, report, time_constant);
            shard.load = Some(estimate.load(report));
            self.estimates[place] = Some(estimate);
        }
    }

    fn cycle(&mut self) -> Plan {
        let plan = plan(self.now, &self.view, &adaptive(), Scope::Full);
        apply(&mut self.view, &plan, self.now);
        plan
    }

    /// The largest true host load over the mean.
    fn max_over_mean(&self) -> f64 {
        let mut loads = vec![0.0; self.view.executors.len()];
        for (shard, level) in self.view.shards.iter().zip(&self.levels) {
            loads[shard.owner.unwrap().0 as usize] += level;
        }
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        loads.into_iter().fold(0.0, f64::max) / mean
    }
}

#[test]
fn noise_and_drift_move_hardly_a_shard() {
    let mut service = Service::new(1000, 20, 0.3);
    let (every, hours) = (Duration::from_secs(10), 2);
    let mut moves = 0;
    for _ in 0..hours * 360 {
        service.report(every);
        moves += service.cycle().moves.len();
    }
    println!("{moves} moves of 1,000 shards in {hours} hours");
    assert!(moves <= hours, "{moves} moves in {hours} hours");
}

#[test]
fn reports_of_noise_a_second_move_less_than_a_shard_an_hour() {
    let mut service = Service::new(1000, 20, 0.3);
    let hours = 4;
    // Until averages are full, what is measured is the start and not the noise.
    for _ in 0..900 {
        service.report(Duration::from_secs(1));
        let _ = service.cycle();
    }
    let mut moves = 0;
    for _ in 0..hours * 3600 {
        service.report(Duration::from_secs(1));
        moves += service.cycle().moves.len();
    }
    assert!(moves <= hours, "{moves} moves in {hours} hours");
}

#[test]
fn a_shard_that_doubles_for_good_is_put_right_within_fifteen_seconds() {
    let mut service = Service::new(400, 10, 0.1);
    for _ in 0..600 {
        service.report(Duration::from_secs(1));
        let _ = service.cycle();
    }
    let mean = service.levels.iter().sum::<f64>() / 10.0;
    let grows = (0..400).max_by(|&a, &b| service.levels[a].total_cmp(&service.levels[b])).unwrap();
    // A tenth of a host, and then two tenths.
    service.levels[grows] = 0.2 * mean;
    let before = service.max_over_mean();
    let seconds = (1..=15).find(|_| {
        service.report(Duration::from_secs(1));
        let _ = service.cycle();
        service.max_over_mean() < 1.05
    });
    println!("{before:.3} over the mean, put right after {seconds:?} s");
    assert!(before > 1.05 && seconds.is_some(), "{before} and {}", service.max_over_mean());
}

/// A host's shards leave, it goes, and comes back with nothing.
#[test]
fn a_rolling_restart_moves_every_shard_about_once() {
    let snapshot = generate("lognormal-1", 1, Size::default()).unwrap();
    let mut view = run_to_rest(snapshot.view(), &adaptive()).view;
    let (hosts, mut now) = (view.executors.len(), Time::from_millis(2_000_000));
    let (mut moves, mut worst) = (0, 0.0f64);
    let mut cycle = |view: &mut View, now: Time| {
        let plan = plan(now, view, &adaptive(), Scope::Full);
        apply(view, &plan, now);
        moves += plan.moves.len();
        worst = worst.max(plan.report.after.max_over_mean());
    };
    for host in 0..hosts {
        for (candidacy, seconds) in [(Candidacy::Leaving, 5), (Candidacy::Open, 5)] {
            view.executors[host].candidacy = candidacy;
            view.executors[host].opened_at = candidacy.is_open().then_some(now);
            for _ in 0..seconds {
                now += Duration::from_secs(1);
                cycle(&mut view, now);
            }
        }
    }
    for _ in 0..120 {
        now += Duration::from_secs(1);
        cycle(&mut view, now);
    }
    let a_shard = moves as f64 / view.shards.len() as f64;
    println!("{a_shard:.3} moves a shard, max/mean at most {worst:.3}");
    assert!(a_shard <= 1.10, "{a_shard}");
    assert!(worst <= 1.25, "{worst}");
    assert!(view.shards.iter().any(|shard| shard.owner == Some(ExecutorIndex(0))));
}
