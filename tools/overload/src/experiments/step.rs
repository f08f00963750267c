//! A step up: how long until the first refusal, and what it costs meanwhile.

use plimsoll_shedding::Criticality;

use super::{Chart, Course, Experiment, SHORT, Scope, WARM_UP, io_case};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::load::{Piece, Stream};
use crate::outcome::p99;
use crate::record::Record;

const NAME: &str = "step";
/// When the step comes, in seconds.
const AT: f64 = 2.0;
const BEFORE: f64 = 0.5;
/// To 1.4 C, and the fourfold.
const AFTER: [f64; 2] = [1.4, 2.0];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G8",
    about: "0.5 C, then from the third second on 1.4 C or 2 C, half of it critical",
    cases,
    columns: &[
        "first_refusal_ms",
        "critical_p99_first_second_ms",
        "least_goodput_over_c",
        "critical_success",
    ],
    relative: &[],
    goals: &[
        goal(
            "first refusal after a step to 1.4 C, ms",
            1.4,
            "first_refusal_ms",
            Bound::AtMost(100.0),
        ),
        goal(
            "first refusal after a fourfold step, ms",
            2.0,
            "first_refusal_ms",
            Bound::AtMost(20.0),
        ),
        goal(
            "p99 of critical in the first second, ms",
            1.4,
            "critical_p99_first_second_ms",
            Bound::AtMost(100.0),
        ),
        goal(
            "least goodput of half a second over C",
            1.4,
            "least_goodput_over_c",
            Bound::AtLeast(0.9),
        ),
    ],
    chart: Chart::OverTime {
        course: Course::ShedShare,
        title: "Part refused around a step up",
        unit: "%",
    },
};

const fn goal(about: &'static str, factor: f64, figure: &'static str, bound: Bound) -> Goal {
    let of = Of::Median;
    Goal { about, number: "G8", variant: "", factor: Some(factor), figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(8.0, 5.0);
    let to = |after: f64| {
        scope.each(&SHORT, move |shedder, seed| {
            let streams = stepping(BEFORE, after, AT, span);
            Case { extra, ..io_case(NAME, shedder, seed, after, span, streams) }
        })
    };
    AFTER.into_iter().flat_map(to).collect()
}

/// Half critical, half not, at one rate until `at` and another after it.
pub(super) fn stepping(before: f64, after: f64, at: f64, span: f64) -> Vec<Stream> {
    let pieces = vec![
        Piece { from: -WARM_UP, to: at, factor: before / 2.0 },
        Piece { from: at, to: span, factor: after / 2.0 },
    ];
    let other = Stream::new(Criticality::Internal, pieces.clone()).by(1);
    vec![Stream::new(Criticality::CoreFlow, pieces), other]
}

fn extra(case: &Case, records: &[Record], capacity: f64) -> Vec<(&'static str, f64)> {
    let after = |it: &&Record| it.at >= AT;
    let refusals = records.iter().filter(after).filter(|it| it.turned_away());
    let first = refusals.map(|it| it.ended_at() - AT).reduce(f64::min);
    let at_first = |it: &&Record| it.asked.level.is_critical() && it.at < AT + 1.0;
    let critical: Vec<&Record> = records.iter().filter(after).filter(at_first).collect();
    let mut figures = vec![
        ("critical_p99_first_second_ms", p99(&critical)),
        ("least_goodput_over_c", least_goodput(records, capacity, case.span)),
    ];
    figures.extend(first.map(|it| ("first_refusal_ms", it * 1e3)));
    figures
}

/// The least of the half seconds after the step: a tenth of a second has too few
/// answers to be told from chance.
fn least_goodput(records: &[Record], capacity: f64, span: f64) -> f64 {
    const HALF: f64 = 0.5;
    let mut halves = vec![0.0; ((span - AT) / HALF) as usize];
    for record in records.iter().filter(|it| it.in_time() && it.ended_at() >= AT) {
        if let Some(half) = halves.get_mut(((record.ended_at() - AT) / HALF) as usize) {
            *half += 1.0;
        }
    }
    halves.into_iter().fold(f64::INFINITY, f64::min) / HALF / capacity
}
