//! A step down: how long requests are refused that could be served.

use super::step::stepping;
use super::{Chart, Course, Experiment, SHORT, Scope, io_case};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::record::Record;

const NAME: &str = "step-down";
const AT: f64 = 4.0;
const BEFORE: f64 = 2.0;
const AFTER: f64 = 0.5;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G9",
    about: "2 C, then from the fifth second on 0.5 C, half of it critical",
    cases,
    columns: &["last_refusal_ms", "refused_after", "critical_success"],
    relative: &[],
    goals: &[Goal {
        about: "last refusal after a step from 2 C to 0.5 C, ms",
        number: "G9",
        variant: "",
        factor: None,
        figure: "last_refusal_ms",
        of: Of::Median,
        bound: Bound::AtMost(200.0),
    }],
    chart: Chart::OverTime {
        course: Course::ShedShare,
        title: "Part refused around a step down",
        unit: "%",
    },
};

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(11.0, 8.0);
    scope.each(&SHORT, |shedder, seed| {
        let streams = stepping(BEFORE, AFTER, AT, span);
        Case { extra, ..io_case(NAME, shedder, seed, BEFORE, span, streams) }
    })
}

/// How long after the step the last request came that was turned away; 0 if none
/// was.
fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    let after: Vec<_> = records.iter().filter(|it| it.at >= AT).collect();
    let refused = || after.iter().filter(|it| it.turned_away());
    let last = refused().map(|it| it.at - AT).fold(0.0, f64::max);
    vec![
        ("last_refusal_ms", last * 1e3),
        ("refused_after", refused().count() as f64 / after.len().max(1) as f64),
    ]
}
