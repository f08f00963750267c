//! Ours against a rate limit that was once configured.

use super::{CRITICAL, Chart, Experiment, Relative, Scope, To, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::shedders::Shedder;

const NAME: &str = "token-bucket";
const THESE: &[Shedder] = &[Shedder::Plimsoll, Shedder::TokenBucket, Shedder::None];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G24",
    about: "2 C, critical 0.667 C, 20 s, against a token bucket set at 0.55 C and against an unbounded wait",
    cases,
    columns: &[
        "goodput_over_c",
        "critical_success",
        "p50_ms",
        "p99_ms",
        "goodput_over_bucket",
        "p99_over_none",
    ],
    relative: &[
        Relative {
            name: "goodput_over_bucket",
            figure: "goodput_over_c",
            to: To::Shedder(Shedder::TokenBucket),
        },
        Relative { name: "p99_over_none", figure: "p99_ms", to: To::Shedder(Shedder::None) },
    ],
    goals: &[
        goal("goodput over that of the bucket", "goodput_over_bucket", Bound::AtLeast(1.8)),
        goal("p99 over that of an unbounded wait", "p99_over_none", Bound::AtMost(0.3)),
    ],
    chart: Chart::Bars {
        figures: &["goodput_over_c", "critical_success"],
        title: "Against a token bucket at 2 C",
        unit: "%",
        variant: "",
    },
};

const fn goal(about: &'static str, figure: &'static str, bound: Bound) -> Goal {
    Goal { about, number: "G24", variant: "", factor: None, figure, of: Of::Median, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(20.0, 8.0);
    scope.each(THESE, |shedder, seed| {
        let streams = two_levels(CRITICAL, 2.0 - CRITICAL, span);
        io_case(NAME, shedder, seed, 2.0, span, streams)
    })
}
