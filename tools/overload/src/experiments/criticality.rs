//! The seed's second: two callers, one critical, each at two thirds of the
//! capacity.

use super::served::two_callers;
use super::{CRITICAL, Chart, Experiment, Scope, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::shedders::Shedder;

const NAME: &str = "criticality";
const LOAD: f64 = 2.0 * CRITICAL;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G2",
    about: "a critical and another caller at 0.667 C each (60 s ours, the seed and none; 12 s the others)",
    cases,
    columns: &[
        "goodput_over_c",
        "critical_success",
        "other_success",
        "p99_ms",
        "critical_p99_ms",
        "p99_reject_ms",
    ],
    relative: &[],
    goals: &[
        goal("critical success", "", "critical_success", Of::Worst, Bound::AtLeast(1.0)),
        goal("non-critical success", "", "other_success", Of::Median, Bound::AtLeast(0.48)),
        goal("goodput over C", "", "goodput_over_c", Of::Median, Bound::AtLeast(0.98)),
        goal("p99 of critical, ms", "", "critical_p99_ms", Of::Median, Bound::AtMost(60.0)),
        goal(
            "critical success over sockets",
            "sockets",
            "critical_success",
            Of::Worst,
            Bound::AtLeast(1.0),
        ),
        goal(
            "critical success over sockets, handlers that compute",
            "cpu",
            "critical_success",
            Of::Worst,
            Bound::AtLeast(1.0),
        ),
        goal(
            "non-critical success over sockets",
            "sockets",
            "other_success",
            Of::Median,
            Bound::AtLeast(0.48),
        ),
    ],
    chart: Chart::Bars {
        figures: &["critical_success", "other_success"],
        title: "Answered in time at 1.33 C",
        unit: "%",
        variant: "",
    },
};

const fn goal(
    about: &'static str,
    variant: &'static str,
    figure: &'static str,
    of: Of,
    bound: Bound,
) -> Goal {
    Goal { about, number: "G2", variant, factor: None, figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let mut cases = scope.each(&Shedder::ALL, |shedder, seed| {
        let long = matches!(shedder, Shedder::Plimsoll | Shedder::None | Shedder::QalmDequeue);
        let span = scope.span(if long { 60.0 } else { 12.0 }, 8.0);
        let streams = two_levels(CRITICAL, CRITICAL, span);
        io_case(NAME, shedder, seed, round(LOAD), span, streams)
    });
    cases.extend(two_callers(scope, NAME, CRITICAL, CRITICAL, round(LOAD)));
    cases
}

/// To two digits: what the factor is called.
fn round(factor: f64) -> f64 {
    (factor * 100.0).round() / 100.0
}
