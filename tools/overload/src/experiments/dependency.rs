//! What the handlers call becomes ten times as slow for ten seconds.

use std::time::Duration;

use plimsoll_shedding::Criticality;

use super::{Chart, Course, Experiment, SHORT, Scope, WARM_UP, io_case};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::io::ServicePlan;
use crate::load::{Piece, Stream};
use crate::record::{Fate, Record};

const NAME: &str = "dependency";
const SLOW: Piece = Piece { from: 5.0, to: 15.0, factor: 10.0 };
/// Levels 1, 2, 3 and 4, over the capacity. What is left is a tenth; levels 1 and
/// 2 ask for 0.08 of it.
const LOADS: [f64; 4] = [0.02, 0.06, 0.32, 0.4];
/// From the end of the slowness on, until it must be as before.
const RECOVERED: f64 = 1.0;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "dependency",
    about: "0.8 C, of which levels 1 and 2 are 0.08; from second 5 to 15 every handler takes ten times as long",
    cases,
    columns: &["slow_critical_served", "slow_critical_p99_ms", "after_success", "critical_success"],
    relative: &[],
    goals: &[
        goal(
            "critical served while ten times as slow",
            "slow_critical_served",
            Of::Worst,
            Bound::AtLeast(1.0),
        ),
        goal(
            "p99 of critical then, ms (handlers alone: 460)",
            "slow_critical_p99_ms",
            Of::Median,
            Bound::AtMost(1000.0),
        ),
        goal(
            "success from a second after it on",
            "after_success",
            Of::Median,
            Bound::AtLeast(0.99),
        ),
    ],
    chart: Chart::OverTime {
        course: Course::ShedShare,
        title: "Part refused around a slow dependency",
        unit: "%",
    },
};

const fn goal(about: &'static str, figure: &'static str, of: Of, bound: Bound) -> Goal {
    Goal { about, number: "dependency", variant: "", factor: None, figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = 25.0;
    let plan = ServicePlan { slow: Some(SLOW), ..ServicePlan::default() };
    scope.each(&SHORT, |shedder, seed| {
        let stream = |(level, factor): (Criticality, f64)| {
            Stream::new(level, vec![Piece { from: -WARM_UP, to: span, factor }])
        };
        let streams = Criticality::ALL.into_iter().zip(LOADS).map(stream).collect();
        let case = io_case(NAME, shedder, seed, 0.8, span, streams);
        Case { extra, place: Place::Io(plan.clone()), drain: Duration::from_secs(10), ..case }
    })
}

/// Critical requests that were answered within two seconds, of those that came
/// while it was slow; all levels' success after it.
fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    const AT_ALL_MS: f64 = 2000.0;
    let during = |it: &&Record| it.at >= SLOW.from && it.at < SLOW.to;
    let critical: Vec<_> =
        records.iter().filter(during).filter(|it| it.asked.level.is_critical()).collect();
    let served = |it: &&&Record| it.fate == Fate::Answered && it.latency_ms <= AT_ALL_MS;
    let after: Vec<_> = records.iter().filter(|it| it.at >= SLOW.to + RECOVERED).collect();
    let part = |such: usize, all: usize| such as f64 / all.max(1) as f64;
    vec![
        ("slow_critical_served", part(critical.iter().filter(served).count(), critical.len())),
        ("slow_critical_p99_ms", crate::outcome::p99(&critical)),
        ("after_success", part(after.iter().filter(|it| it.in_time()).count(), after.len())),
    ]
}
