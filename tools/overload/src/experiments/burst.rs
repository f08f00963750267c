//! Bursts and a high steady load that need no refusing at all.

use plimsoll_shedding::Criticality;

use super::{Chart, Experiment, Scope, WARM_UP, constant, io_case};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::load::{Piece, Stream};
use crate::record::Record;
use crate::shedders::Shedder;

const NAME: &str = "burst";
const MEAN: f64 = 0.5;
const STEADY: f64 = 0.8;
/// A burst a second, of 50 ms at 3 C.
const BURST: (f64, f64) = (0.05, 3.0);
/// The parts of levels 1 to 4.
const PARTS: [f64; 4] = [0.05, 0.45, 0.25, 0.25];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G12",
    about: "0.5 C on average with 50 ms at 3 C each second, and a steady 0.8 C; levels 1 to 4 are 5, 45, 25 and 25 %",
    cases,
    columns: &["levels_1_to_3_shed", "level_4_shed", "p99_ms", "critical_success"],
    relative: &[],
    goals: &[
        goal("levels 1 to 3 shed under bursts", "", "levels_1_to_3_shed", 0.0),
        goal("part of level 4 shed under bursts", "", "level_4_shed", 0.001),
        goal("levels 1 to 3 shed at a steady 0.8 C", "steady", "levels_1_to_3_shed", 0.0),
        goal("part of level 4 shed at a steady 0.8 C", "steady", "level_4_shed", 0.001),
    ],
    chart: Chart::Bars {
        figures: &["shed_share"],
        title: "Part refused at 0.5 C with bursts",
        unit: "%",
        variant: "",
    },
};

const fn goal(about: &'static str, variant: &'static str, figure: &'static str, most: f64) -> Goal {
    // Of the worst seed where none may be lost, else of the middle one.
    let of = if most == 0.0 { Of::Worst } else { Of::Median };
    Goal { about, number: "G12", variant, factor: None, figure, of, bound: Bound::AtMost(most) }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(20.0, 10.0);
    let mut cases = scope.each(&Shedder::ALL, |shedder, seed| Case {
        extra,
        ..io_case(NAME, shedder, seed, MEAN, span, levels(&bursts(span)))
    });
    cases.extend(scope.each(&Shedder::ALL, |shedder, seed| {
        let steady = constant(STEADY, STEADY, span);
        let case = io_case(NAME, shedder, seed, STEADY, span, levels(&steady));
        Case { variant: "steady", extra, ..case }
    }));
    cases
}

/// A burst at the start of each second, and between them what makes up the mean.
fn bursts(span: f64) -> Vec<Piece> {
    let (length, peak) = BURST;
    let base = (MEAN - length * peak) / (1.0 - length);
    let mut pieces = vec![Piece { from: -WARM_UP, to: 0.0, factor: MEAN }];
    for second in 0..span as u32 {
        let from = f64::from(second);
        pieces.push(Piece { from, to: from + length, factor: peak });
        pieces.push(Piece { from: from + length, to: from + 1.0, factor: base });
    }
    pieces
}

fn levels(pieces: &[Piece]) -> Vec<Stream> {
    let part = |part: f64| pieces.iter().map(move |it| Piece { factor: it.factor * part, ..*it });
    let both = Criticality::ALL.into_iter().zip(PARTS).zip(0..);
    both.map(|((level, size), caller)| Stream::new(level, part(size).collect()).by(caller))
        .collect()
}

/// How many of levels 1 to 3 were turned away, and which part of level 4.
fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    let upper = records.iter().filter(|it| it.asked.level != Criticality::Internal);
    let last: Vec<_> =
        records.iter().filter(|it| it.asked.level == Criticality::Internal).collect();
    let shed = last.iter().filter(|it| it.turned_away()).count();
    vec![
        ("levels_1_to_3_shed", upper.filter(|it| it.turned_away()).count() as f64),
        ("level_4_shed", shed as f64 / last.len().max(1) as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_leave_the_mean_as_it_is() {
        let pieces = bursts(10.0);
        let measured = pieces.iter().filter(|it| it.from >= 0.0);
        let mean = measured.map(|it| (it.to - it.from) * it.factor).sum::<f64>() / 10.0;
        assert!((mean - MEAN).abs() < 1e-9, "{mean}");
    }
}
