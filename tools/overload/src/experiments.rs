//! The experiments: which loads, which shedders, which goals.

mod burst;
mod clock;
mod critical_alone;
mod criticality;
mod degradation;
mod dependency;
mod fairness;
mod health;
mod isolation;
mod low_traffic;
mod memory;
mod overhead;
mod reject_latency;
mod served;
mod stability;
mod stall;
mod step;
mod step_down;
mod streams;
mod sweep;
mod token_bucket;

use std::time::Duration;

use plimsoll_shedding::Criticality;

use crate::case::{Case, Place};
use crate::goal::Goal;
use crate::io::ServicePlan;
use crate::load::{Piece, Stream};
use crate::outcome::{Outcome, Row};
use crate::shedders::Shedder;

/// How much is to be run.
#[derive(Clone, Debug)]
pub struct Scope {
    pub quick: bool,
    pub seeds: u64,
    /// Only these; all if empty.
    pub shedders: Vec<Shedder>,
}

/// How an experiment is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Chart {
    /// A bar for each shedder and figure, of one factor.
    Bars {
        figures: &'static [&'static str],
        title: &'static str,
        unit: &'static str,
        /// Of which variant.
        variant: &'static str,
    },
    /// A line for each shedder: a figure over the factor.
    OverFactor { figure: &'static str, title: &'static str, unit: &'static str },
    /// A line for each shedder: what happened over time.
    OverTime { course: Course, title: &'static str, unit: &'static str },
}

/// What is drawn over time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Course {
    /// The slowest answer, in milliseconds.
    Slowest,
    /// The part refused, in percent.
    ShedShare,
}

/// One experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    pub name: &'static str,
    /// Its number among the reference's goals.
    pub number: &'static str,
    /// What is done, in a sentence.
    pub about: &'static str,
    pub cases: fn(&Scope) -> Vec<Case>,
    /// Figures that its table shows.
    pub columns: &'static [&'static str],
    /// Figures that only exist beside another case.
    pub relative: &'static [Relative],
    pub goals: &'static [Goal],
    pub chart: Chart,
}

/// A figure over the same figure of another case of the same seed.
#[derive(Clone, Copy, Debug)]
pub struct Relative {
    pub name: &'static str,
    pub figure: &'static str,
    pub to: To,
}

/// The other case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum To {
    /// The same with another shedder.
    Shedder(Shedder),
    /// The same at another factor.
    Factor(f64),
}

impl Relative {
    /// Adds it to every outcome that has the other beside it.
    pub fn add_to(self, outcomes: &mut [Outcome]) {
        for index in 0..outcomes.len() {
            let it = &outcomes[index];
            let other = outcomes.iter().find(|other| self.belongs(&it.row, &other.row));
            let base = other.and_then(|other| other.figure(self.figure));
            if let (Some(value), Some(base)) = (it.figure(self.figure), base) {
                outcomes[index].figures.insert(self.name.into(), value / base);
            }
        }
    }

    fn belongs(self, it: &Row, other: &Row) -> bool {
        let (shedder, factor) = match self.to {
            To::Shedder(shedder) => (shedder.name(), it.factor),
            To::Factor(factor) => (it.shedder, factor),
        };
        it.experiment == other.experiment
            && it.seed == other.seed
            && other.shedder == shedder
            && (other.factor - factor).abs() < 1e-9
    }
}

impl Experiment {
    pub const ALL: &'static [Self] = &[
        degradation::EXPERIMENT,
        criticality::EXPERIMENT,
        overhead::EXPERIMENT,
        isolation::EXPERIMENT,
        sweep::EXPERIMENT,
        critical_alone::EXPERIMENT,
        step::EXPERIMENT,
        step_down::EXPERIMENT,
        stability::EXPERIMENT,
        reject_latency::EXPERIMENT,
        burst::EXPERIMENT,
        low_traffic::EXPERIMENT,
        stall::EXPERIMENT,
        streams::EXPERIMENT,
        health::EXPERIMENT,
        fairness::EXPERIMENT,
        memory::EXPERIMENT,
        clock::EXPERIMENT,
        dependency::EXPERIMENT,
        token_bucket::EXPERIMENT,
    ];
}

/// Seconds of warm-up before what is measured.
const WARM_UP: f64 = 3.0;
/// The same over sockets, where runs come one after the other.
const SERVED_WARM_UP: f64 = 2.0;
/// The load of the warm-up, over the capacity.
const WARM: f64 = 0.6;

impl Scope {
    /// That span in full, or a short one.
    fn span(&self, full: f64, quick: f64) -> f64 {
        if self.quick { quick } else { full }
    }

    /// The same with so many times as many seeds.
    fn repeated(&self, times: u64) -> Self {
        Self { seeds: self.seeds * times, ..self.clone() }
    }

    /// Those of these that were asked for.
    fn shedders(&self, these: &[Shedder]) -> Vec<Shedder> {
        let wanted = |it: &Shedder| self.shedders.is_empty() || self.shedders.contains(it);
        these.iter().copied().filter(wanted).collect()
    }

    /// `case` for every one of these shedders and every seed.
    fn each(&self, shedders: &[Shedder], case: impl Fn(Shedder, u64) -> Case) -> Vec<Case> {
        let shedders = self.shedders(shedders);
        let case = &case;
        (1..=self.seeds).flat_map(|seed| shedders.iter().map(move |&it| case(it, seed))).collect()
    }
}

/// A case in this process of the usual service.
fn io_case(
    experiment: &'static str,
    shedder: Shedder,
    seed: u64,
    factor: f64,
    span: f64,
    streams: Vec<Stream>,
) -> Case {
    Case {
        experiment,
        variant: "",
        shedder,
        factor,
        seed,
        streams,
        place: Place::Io(ServicePlan::default()),
        per_second: false,
        span,
        drain: Duration::from_secs(3),
        extra: nothing,
    }
}

fn nothing(_: &Case, _: &[crate::record::Record], _: f64) -> Vec<(&'static str, f64)> {
    Vec::new()
}

/// A constant rate from 0 to `span`, after a warm-up at a part of it that makes
/// 0.6 C of `total`.
fn constant(factor: f64, total: f64, span: f64) -> Vec<Piece> {
    warmed(WARM_UP, factor, total, span)
}

fn warmed(warm_up: f64, factor: f64, total: f64, span: f64) -> Vec<Piece> {
    let warm = factor / total * WARM.min(total);
    vec![Piece { from: -warm_up, to: 0.0, factor: warm }, Piece { from: 0.0, to: span, factor }]
}

/// Levels 2 and 4 at constant rates.
fn two_levels(critical: f64, other: f64, span: f64) -> Vec<Stream> {
    levels_2_and_4(WARM_UP, [critical, other], span)
}

/// The same over sockets.
fn two_levels_served(critical: f64, other: f64, span: f64) -> Vec<Stream> {
    levels_2_and_4(SERVED_WARM_UP, [critical, other], span)
}

fn levels_2_and_4(warm_up: f64, [critical, other]: [f64; 2], span: f64) -> Vec<Stream> {
    let at = |factor: f64| warmed(warm_up, factor, critical + other, span);
    vec![
        Stream::new(Criticality::CoreFlow, at(critical)),
        Stream::new(Criticality::Internal, at(other)).by(1),
    ]
}

/// Ours, no protection, the seed's two readings and one of each kind of peer: for
/// experiments in which all eighteen would take too long.
const SHORT: [Shedder; 10] = [
    Shedder::Plimsoll,
    Shedder::PlimsollFixed,
    Shedder::None,
    Shedder::QalmDequeue,
    Shedder::QalmArrival,
    Shedder::NetflixGradient2,
    Shedder::Cinnamon,
    Shedder::Dagor,
    Shedder::FollyCodel,
    Shedder::Tower,
];

/// The seed's critical load.
const CRITICAL: f64 = 2.0 / 3.0;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn scope() -> Scope {
        Scope { quick: true, seeds: 2, shedders: Vec::new() }
    }

    #[test]
    fn no_two_cases_have_the_same_line() {
        for experiment in Experiment::ALL {
            let mut seen = BTreeSet::new();
            for case in (experiment.cases)(&scope()) {
                let key = (case.title(), case.shedder.name(), case.factor.to_bits(), case.seed);
                assert!(seen.insert(key.clone()), "{key:?}");
            }
        }
    }

    #[test]
    fn every_goal_has_cases_of_ours_to_be_judged_by() {
        let full = Scope { quick: false, ..scope() };
        for experiment in Experiment::ALL {
            let cases = (experiment.cases)(&full);
            for goal in experiment.goals.iter().filter(|_| !cases.is_empty()) {
                let ours = cases.iter().filter(|it| it.shedder == Shedder::Plimsoll);
                let mut fitting = ours
                    .filter(|it| it.variant == goal.variant)
                    .filter(|it| goal.factor.is_none_or(|at| (at - it.factor).abs() < 1e-9));
                assert!(fitting.next().is_some(), "{}: {}", experiment.name, goal.about);
            }
        }
    }

    #[test]
    fn only_the_shedders_that_are_asked_for_are_run() {
        let only = Scope { shedders: vec![Shedder::None], ..scope() };
        let cases = (sweep::EXPERIMENT.cases)(&only);
        assert!(!cases.is_empty() && cases.iter().all(|it| it.shedder == Shedder::None));
    }

    #[test]
    fn loads_add_up_to_their_factor() {
        for case in (sweep::EXPERIMENT.cases)(&scope()) {
            let pieces = case.streams.iter().flat_map(|it| &it.pieces);
            let load: f64 = pieces.filter(|it| it.from == 0.0).map(|it| it.factor).sum();
            assert!((load - case.factor).abs() < 0.01, "{load} {}", case.factor);
        }
    }

    #[test]
    fn a_relative_figure_is_over_the_same_seed_of_the_other_case() {
        use crate::outcome::tests::{case, record};
        use crate::record::Fate;

        let outcome = |shedder, seed, latency| {
            let records = [record(0.0, 2, Fate::Answered, latency)];
            Outcome::of(&case(shedder, 2.0, seed), &records, 10.0)
        };
        let mut outcomes = vec![
            outcome(Shedder::Plimsoll, 1, 10.0),
            outcome(Shedder::None, 2, 10.0),
            outcome(Shedder::None, 1, 40.0),
        ];
        let to = To::Shedder(Shedder::None);
        Relative { name: "ratio", figure: "p99_ms", to }.add_to(&mut outcomes);
        assert_eq!(outcomes[0].figure("ratio"), Some(0.25));
    }
}
