//! How long a request that is refused waits to hear it.

use super::{CRITICAL, Chart, Experiment, SHORT, Scope, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};

const NAME: &str = "reject-latency";
const LOADS: [f64; 2] = [1.33, 2.0];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G11",
    about: "1.33 C and 2 C, critical 0.667 C, 10 s: from the shedder's call to its refusal",
    cases,
    columns: &["p99_reject_ms", "shed_share", "goodput_over_c", "critical_success"],
    relative: &[],
    goals: &[
        goal("p99 time to refuse at 1.33 C, ms", 1.33),
        goal("p99 time to refuse at 2 C, ms", 2.0),
    ],
    chart: Chart::Bars {
        figures: &["p99_reject_ms"],
        title: "p99 time to refuse at 1.33 C",
        unit: "ms",
        variant: "",
    },
};

const fn goal(about: &'static str, factor: f64) -> Goal {
    let (figure, bound) = ("p99_reject_ms", Bound::AtMost(1.0));
    Goal { about, number: "G11", variant: "", factor: Some(factor), figure, of: Of::Median, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(10.0, 6.0);
    let at = |load: f64| {
        scope.each(&SHORT, move |shedder, seed| {
            let streams = two_levels(CRITICAL, load - CRITICAL, span);
            io_case(NAME, shedder, seed, load, span, streams)
        })
    };
    LOADS.into_iter().flat_map(at).collect()
}
