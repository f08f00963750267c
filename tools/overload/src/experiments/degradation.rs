//! The seed's first: 1.25 times the capacity for 100 seconds.
//!
//! Without protection the wait grows by a quarter of a second each second, to
//! 20 seconds after 80.

use std::time::Duration;

use super::served::two_callers;
use super::{Chart, Course, Experiment, Relative, Scope, To, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::record::{Fate, Record};
use crate::shedders::Shedder;
use crate::stats::quantile;

const LOAD: f64 = 1.25;
const NAME: &str = "degradation";
/// Those that run for the whole time; the others run for 12 seconds.
const LONG: &[Shedder] = &[Shedder::Plimsoll, Shedder::None, Shedder::QalmDequeue];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G1",
    about: "1.25 C for 100 s (peers marked 12s for 12 s), half of it critical, or three quarters (75-25)",
    cases,
    columns: &[
        "goodput_over_c",
        "critical_success",
        "shed_share",
        "p50_ms",
        "p99_ms",
        "p99_at_80s_ms",
    ],
    relative: &[Relative {
        name: "p99_over_none",
        figure: "p99_ms",
        to: To::Shedder(Shedder::None),
    }],
    goals: &[
        goal("p99 of admitted, ms", "", "p99_ms", Of::Median, Bound::AtMost(100.0)),
        goal("p99 of admitted, 75/25, ms", "75-25", "p99_ms", Of::Median, Bound::AtMost(100.0)),
        goal("goodput over C", "", "goodput_over_c", Of::Median, Bound::AtLeast(0.98)),
        goal("critical success", "", "critical_success", Of::Worst, Bound::AtLeast(1.0)),
        goal("part shed", "", "shed_share", Of::Median, Bound::AtMost(0.215)),
        goal(
            "p99 over that without protection",
            "",
            "p99_over_none",
            Of::Median,
            Bound::AtMost(0.005),
        ),
        goal(
            "p99 over sockets, handlers that wait, ms",
            "sockets",
            "p99_ms",
            Of::Median,
            Bound::AtMost(100.0),
        ),
        goal(
            "p99 over sockets, handlers that compute, ms",
            "cpu",
            "p99_ms",
            Of::Median,
            Bound::AtMost(150.0),
        ),
        goal(
            "critical success over sockets, handlers that compute",
            "cpu",
            "critical_success",
            Of::Worst,
            Bound::AtLeast(1.0),
        ),
        goal(
            "critical shed or expired",
            "75-25",
            "critical_turned_away",
            Of::Worst,
            Bound::AtMost(0.0),
        ),
    ],
    chart: Chart::OverTime {
        course: Course::Slowest,
        title: "Slowest answer at 1.25 C",
        unit: "ms",
    },
};

const fn goal(
    about: &'static str,
    variant: &'static str,
    figure: &'static str,
    of: Of,
    bound: Bound,
) -> Goal {
    Goal { about, number: "G1", variant, factor: Some(LOAD), figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let long = scope.span(100.0, 15.0);
    let mut cases = scope.each(LONG, |shedder, seed| case(shedder, seed, "", 0.5, long));
    cases.extend(scope.each(LONG, |shedder, seed| case(shedder, seed, "75-25", 0.75, long)));
    let short: Vec<_> = Shedder::ALL.into_iter().filter(|it| !LONG.contains(it)).collect();
    let span = scope.span(12.0, 8.0);
    cases.extend(scope.each(&short, |shedder, seed| case(shedder, seed, "12s", 0.5, span)));
    cases.extend(two_callers(scope, NAME, LOAD / 2.0, LOAD / 2.0, LOAD));
    cases
}

fn case(shedder: Shedder, seed: u64, variant: &'static str, critical: f64, span: f64) -> Case {
    let streams = two_levels(critical * LOAD, (1.0 - critical) * LOAD, span);
    let case = io_case(NAME, shedder, seed, LOAD, span, streams);
    // What waits at the end is answered too: it took 20 s and must be seen.
    Case { variant, drain: Duration::from_secs_f64(span * 0.4 + 2.0), extra, ..case }
}

/// The p99 of what was asked for in the second before the 80th.
fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    let then = records.iter().filter(|it| it.at >= 79.0 && it.at < 80.0);
    let answered = then.filter(|it| it.fate == Fate::Answered);
    let mut latencies: Vec<f64> = answered.map(|it| it.latency_ms).collect();
    quantile(&mut latencies, 0.99).map(|it| ("p99_at_80s_ms", it)).into_iter().collect()
}
