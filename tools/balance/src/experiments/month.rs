//! A month of traffic: half of it placed by a hash ring, the other half balanced.
//!
//! Load follows the hour of the day, tenants move together, reports are noisy,
//! some shards are launched and grow, some meet a crowd that makes them ten times
//! as heavy within 30 s, and all hosts restart in turn twice a day. A report and a
//! cycle every ten seconds.
//!
//! Then the question that pays for it: how many hosts carry the same traffic with
//! the hottest host no hotter than it was with the ring.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorView, ShardView, View};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use crate::measure::{mean, percentile};
use crate::mode::{Mode, Planner};
use crate::report::{Chart, Curve, Curves, Report};
use crate::simulate::Cluster;
use crate::traffic::{Recipe, Traffic};
use crate::world::{Moved, open_hosts, reopen};

use super::thrash::tdtv;

const STEP: Duration = Duration::from_secs(10);
const STEPS_A_DAY: u64 = 8640;
/// When a day's two deploys begin, in steps.
const DEPLOYS: [u64; 2] = [3600, 5400];
/// Steps that a restarting host is away, and from one goodbye to the next.
const AWAY: u64 = 3;
const TURN: u64 = 4;
/// Standard deviation of one report, as a part of the load.
const NOISE: f64 = 0.15;
/// What hosts are sized for: all moments but one in a hundred.
const PEAK: f64 = 0.99;
/// What a large host carries beside the others.
const LARGE: f64 = 1.5;

/// How the experiment is run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(long, default_value_t = 30)]
    pub days: u64,
    #[arg(long, default_value_t = 24)]
    pub hosts: usize,
    #[arg(long, default_value_t = 1000)]
    pub shards: usize,
    /// One of so many hosts carries half as much again; 0 for none
    #[arg(long, default_value_t = 4)]
    pub large_every: usize,
    /// Days of traffic from which the number of hosts needed is found; 0 to leave
    /// that out
    #[arg(long, default_value_t = 7)]
    pub fit_days: u64,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only these modes after the first half
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Month {
    mode: &'static str,
    /// Hottest host over the mean, per unit of capacity, over the second half.
    mean_max_over_mean: f64,
    p99_max_over_mean: f64,
    worst_max_over_mean: f64,
    /// The load of the hottest host over the mean of the whole half: what a host
    /// must be able to carry, but for one moment in a hundred.
    peak_over_mean: f64,
    balance_moves_a_day: f64,
    restart_moves_a_day: f64,
    /// Of a host and day, with the swing of the day itself.
    thrash_percent: f64,
    hosts_needed: Option<usize>,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let mut modes = super::modes(&options.mode, &[Mode::GREEDY, Mode::ADAPTIVE])?;
    modes.insert(0, Mode::RING);
    let columns = [
        "second half by",
        "mean max/mean",
        "p99",
        "worst",
        "peak/mean",
        "moves a day",
        "for restarts",
        "thrash %",
        "hosts needed",
    ];
    let title = format!(
        "{} days, {} shards on {} hosts; ring in the first half, figures from the second.",
        options.days, options.shards, options.hosts
    );
    let mut report = Report::new(title, &columns);
    let ring_peak = fit_peak(options, options.hosts, Mode::RING);
    for mode in modes {
        eprintln!("{} ...", mode.as_str());
        let diary = keep_diary(options, mode);
        let needed = match mode {
            Mode::RING => ring_peak.map(|_| options.hosts),
            _ => ring_peak.map(|peak| hosts_needed(options, mode, peak)),
        };
        let month = diary.figures(mode, options, needed);
        report.line(cells(&month), &month)?;
        report.chart = Some(diary.chart(mode));
    }
    Ok(report)
}

/// The whole month, switched to this mode at half time.
fn keep_diary(options: &Options, mode: Mode) -> Diary {
    let mut days = Days::new(options, options.hosts, Mode::RING);
    let mut diary = Diary::default();
    let half = options.days * STEPS_A_DAY / 2;
    for step in 0..options.days * STEPS_A_DAY {
        if step == half {
            days.cluster = Cluster::new(days.cluster.view.clone(), Planner::new(mode));
            diary.second_half();
        }
        days.step(step);
        diary.write(step, &days.cluster);
    }
    diary.moved = days.cluster.moved;
    diary
}

/// The hottest host's load, exceeded in one moment of a hundred, with so many
/// hosts; `None` if that is not asked for.
fn fit_peak(options: &Options, hosts: usize, mode: Mode) -> Option<f64> {
    let steps = options.fit_days * STEPS_A_DAY;
    let mut days = Days::new(options, hosts, mode);
    let mut peaks: Vec<f64> = (0..steps).map(|step| days.step(step)).collect();
    // From the ring's placement to its own is not what is asked.
    peaks.drain(..(STEPS_A_DAY as usize / 4).min(peaks.len()));
    peaks.sort_by(f64::total_cmp);
    (!peaks.is_empty()).then(|| percentile(&peaks, PEAK))
}

/// The fewest hosts whose hottest stays at or below `peak`, by halving.
fn hosts_needed(options: &Options, mode: Mode, peak: f64) -> usize {
    let (mut least, mut most) = (1, options.hosts);
    while least < most {
        let middle = (least + most) / 2;
        eprintln!("  {} with {middle} hosts ...", mode.as_str());
        if fit_peak(options, middle, mode).is_some_and(|reached| reached <= peak) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    most
}

/// A cluster with its traffic and its deploys.
struct Days {
    cluster: Cluster,
    traffic: Traffic,
    rng: Pcg64Mcg,
}

impl Days {
    fn new(options: &Options, hosts: usize, mode: Mode) -> Self {
        let recipe = Recipe {
            shards: options.shards,
            tenants: options.shards.div_ceil(25),
            skew: 1.0,
            launches_a_day: 1.0,
            crowds_a_day: 4.0,
            seed: options.seed,
        };
        let executor = |host: usize| {
            let mut executor = ExecutorView::new(format!("host-{host}"), Candidacy::Open);
            let is_large = options.large_every > 0 && host.is_multiple_of(options.large_every);
            executor.capacity = if is_large { LARGE } else { 1.0 };
            executor
        };
        let mut view = View {
            executors: (0..hosts).map(executor).collect(),
            shards: (0..options.shards)
                .map(|key| ShardView::new(key_hash(&key.to_string())))
                .collect(),
        };
        let placed = Planner::new(Mode::RING).cycle(Time::ZERO, &view);
        crate::world::apply(&mut view, &placed, Time::ZERO);
        Self {
            cluster: Cluster::new(view, Planner::new(mode)),
            traffic: Traffic::new(recipe, options.days.max(options.fit_days) as f64),
            rng: Pcg64Mcg::seed_from_u64(options.seed),
        }
    }

    /// Ten seconds; the load of the hottest host at their end, per unit of
    /// capacity.
    fn step(&mut self, step: u64) -> f64 {
        let now = Time::ZERO + STEP * step as u32;
        self.deploy(step % STEPS_A_DAY, now);
        self.cluster.truth = self.traffic.loads(now);
        let rng = &mut self.rng;
        self.cluster.report(now, |load| {
            let error: f64 = rng.sample(StandardNormal);
            load * (1.0 + NOISE * error)
        });
        self.cluster.cycle(now, Scope::Full);
        self.cluster.balance().max
    }

    fn deploy(&mut self, step_of_day: u64, now: Time) {
        for begins in DEPLOYS {
            let Some(since) = step_of_day.checked_sub(begins) else { continue };
            let host = (since / TURN) as usize;
            let Some(executor) = self.cluster.view.executors.get_mut(host) else { continue };
            if since % TURN == 0 {
                executor.candidacy = Candidacy::Leaving;
            } else if since % TURN == AWAY {
                reopen(executor, now);
            }
        }
    }
}

/// What is kept of a month.
#[derive(Default)]
struct Diary {
    /// Every step of the half that is being lived.
    ratios: Vec<f64>,
    maxima: Vec<f64>,
    means: Vec<f64>,
    /// By host, every ten minutes.
    hosts: Vec<Vec<f64>>,
    /// Every hour of the month: days, and the largest, mean and least load.
    curve: Vec<(f64, [f64; 3])>,
    moved: Moved,
}

impl Diary {
    fn second_half(&mut self) {
        *self = Self { curve: std::mem::take(&mut self.curve), ..Self::default() };
    }

    fn write(&mut self, step: u64, cluster: &Cluster) {
        let balance = cluster.balance();
        self.ratios.push(balance.max_over_mean());
        self.maxima.push(balance.max);
        self.means.push(balance.mean);
        if step.is_multiple_of(360) {
            let day = step as f64 / STEPS_A_DAY as f64;
            self.curve.push((day, [balance.max, balance.mean, balance.min]));
        }
        if step.is_multiple_of(60) {
            let loads = open_hosts(&cluster.view, cluster.truth.iter().copied());
            self.hosts.resize(self.hosts.len().max(loads.len()), Vec::new());
            for (host, (load, capacity)) in self.hosts.iter_mut().zip(loads) {
                host.push(load / capacity);
            }
        }
    }

    fn figures(&self, mode: Mode, options: &Options, hosts_needed: Option<usize>) -> Month {
        let mut ratios = self.ratios.clone();
        ratios.sort_by(f64::total_cmp);
        let mut maxima = self.maxima.clone();
        maxima.sort_by(f64::total_cmp);
        let days = options.days as f64 / 2.0;
        let thrash: Vec<f64> =
            self.hosts.iter().flat_map(|host| host.chunks(144)).map(tdtv).collect();
        let forced = self.moved.moves - self.moved.unforced_moves;
        Month {
            mode: mode.as_str(),
            mean_max_over_mean: mean(&ratios),
            p99_max_over_mean: percentile(&ratios, 0.99),
            worst_max_over_mean: percentile(&ratios, 1.0),
            peak_over_mean: percentile(&maxima, PEAK) / mean(&self.means),
            balance_moves_a_day: self.moved.unforced_moves as f64 / days,
            restart_moves_a_day: forced as f64 / days,
            thrash_percent: 100.0 * mean(&thrash),
            hosts_needed,
        }
    }

    fn chart(&self, mode: Mode) -> Chart {
        let curve = |(place, name): (usize, &str)| Curve {
            name: name.into(),
            points: self.curve.iter().map(|(day, loads)| (*day, loads[place])).collect(),
        };
        let names = ["hottest host", "mean", "coldest host"];
        Chart::Curves(Curves {
            title: format!("A month: hash ring, then {} from the middle on", mode.as_str()),
            x: "days".into(),
            y: "load of a host per unit of capacity".into(),
            curves: names.into_iter().enumerate().map(curve).collect(),
        })
    }
}

fn cells(month: &Month) -> Vec<String> {
    vec![
        month.mode.into(),
        format!("{:.3}", month.mean_max_over_mean),
        format!("{:.3}", month.p99_max_over_mean),
        format!("{:.3}", month.worst_max_over_mean),
        format!("{:.2}", month.peak_over_mean),
        format!("{:.0}", month.balance_moves_a_day),
        format!("{:.0}", month.restart_moves_a_day),
        format!("{:.0}", month.thrash_percent),
        month.hosts_needed.map_or_else(|| "-".into(), |hosts| hosts.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Options = Options {
        days: 2,
        hosts: 6,
        shards: 90,
        large_every: 3,
        fit_days: 0,
        seed: 1,
        mode: Vec::new(),
    };

    #[test]
    fn a_ring_that_stays_a_ring_moves_only_for_restarts() {
        let diary = keep_diary(&SHORT, Mode::RING);
        let month = diary.figures(Mode::RING, &SHORT, None);
        // Out when their host goes; back home unforced when it is there again.
        assert!(month.restart_moves_a_day >= 2.0 * 90.0 * 0.9, "{month:?}");
        assert_eq!(month.balance_moves_a_day, month.restart_moves_a_day);
        assert!(month.mean_max_over_mean > 1.2, "{month:?}");
    }

    #[test]
    fn balancing_is_better_than_not() {
        let by = |mode| keep_diary(&SHORT, mode).figures(mode, &SHORT, None).mean_max_over_mean;
        assert!(by(Mode::GREEDY) < by(Mode::RING));
    }

    #[test]
    fn without_days_to_fit_nothing_is_fitted() {
        assert_eq!(fit_peak(&SHORT, 6, Mode::RING), None);
    }

    #[test]
    fn more_hosts_are_never_found_than_there_are() {
        let options = Options { fit_days: 1, ..SHORT };
        let peak = fit_peak(&options, 6, Mode::RING).unwrap();
        let needed = hosts_needed(&options, Mode::GREEDY, peak);
        assert!((1..=6).contains(&needed));
    }
}
