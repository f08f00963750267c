//! The critical load stays, the rest grows: to ten times the capacity.

use super::{CRITICAL, Chart, Experiment, SHORT, Scope, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};

const NAME: &str = "sweep";
const LOADS: [f64; 5] = [1.25, 1.33, 2.0, 4.0, 10.0];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G3",
    about: "critical 0.667 C, in all 1.25 to 10 C, 10 s each (6 s at 10 C)",
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
        critical("critical success at 1.25 C", 1.25, 1.0),
        critical("critical success at 1.33 C", 1.33, 1.0),
        critical("critical success at 2 C", 2.0, 1.0),
        critical("critical success at 4 C", 4.0, 1.0),
        critical("critical success at 10 C", 10.0, 0.9999),
        goodput("goodput over C at 1.25 C", 1.25, 0.98),
        goodput("goodput over C at 1.33 C", 1.33, 0.98),
        goodput("goodput over C at 2 C", 2.0, 0.98),
        goodput("goodput over C at 4 C", 4.0, 0.98),
        goodput("goodput over C at 10 C", 10.0, 0.97),
    ],
    chart: Chart::OverFactor {
        figure: "critical_success",
        title: "Critical requests answered in time",
        unit: "%",
    },
};

const fn critical(about: &'static str, factor: f64, least: f64) -> Goal {
    goal(about, factor, "critical_success", Of::Worst, least)
}

const fn goodput(about: &'static str, factor: f64, least: f64) -> Goal {
    goal(about, factor, "goodput_over_c", Of::Median, least)
}

const fn goal(about: &'static str, factor: f64, figure: &'static str, of: Of, least: f64) -> Goal {
    let bound = Bound::AtLeast(least);
    Goal { about, number: "G3", variant: "", factor: Some(factor), figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let at = |load: f64| {
        let span = scope.span(if load < 10.0 { 10.0 } else { 6.0 }, 6.0);
        scope.each(&SHORT, move |shedder, seed| {
            let streams = two_levels(CRITICAL, load - CRITICAL, span);
            io_case(NAME, shedder, seed, load, span, streams)
        })
    };
    LOADS.into_iter().flat_map(at).collect()
}
