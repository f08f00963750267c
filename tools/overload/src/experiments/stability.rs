//! How steady the refusing is under a steady overload.

use super::{CRITICAL, Chart, Course, Experiment, SHORT, Scope, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};

const NAME: &str = "stability";
const LOADS: [f64; 2] = [2.0, 4.0];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G10",
    about: "2 C and 4 C for 10 s, critical 0.667 C: the standard deviation of the part refused in each second",
    cases,
    columns: &["shed_share", "shed_deviation_points", "goodput_over_c"],
    relative: &[],
    goals: &[
        goal("deviation of the part shed a second at 2 C, points", 2.0),
        goal("deviation of the part shed a second at 4 C, points", 4.0),
    ],
    chart: Chart::OverTime {
        course: Course::ShedShare,
        title: "Part refused at a steady 2 C",
        unit: "%",
    },
};

const fn goal(about: &'static str, factor: f64) -> Goal {
    let (figure, bound) = ("shed_deviation_points", Bound::AtMost(2.0));
    Goal { about, number: "G10", variant: "", factor: Some(factor), figure, of: Of::Median, bound }
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
