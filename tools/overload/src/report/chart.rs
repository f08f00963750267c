//! One SVG for each experiment.
//!
//! Drawn in colours that a style sheet in the file swaps when the reader's screen
//! is dark.

mod bars;
mod lines;
mod look;

use anyhow::Result;

use super::{Group, groups};
use crate::experiments::{Chart, Course, Experiment};
use crate::outcome::{BIN, Bin, Outcome};
use crate::shedders::Shedder;

use lines::Line;

/// Whose lines are drawn: more cannot be told apart.
const DRAWN: [Shedder; 9] = [
    Shedder::Plimsoll,
    Shedder::None,
    Shedder::QalmDequeue,
    Shedder::QalmArrival,
    Shedder::NetflixGradient2,
    Shedder::Cinnamon,
    Shedder::Dagor,
    Shedder::FollyCodel,
    Shedder::Tower,
];

/// Bins that make a point of a course.
const BINS_A_POINT: usize = 3;

/// The experiment's chart; `None` if there is nothing to draw.
///
/// # Errors
/// The drawing library gave up.
pub fn svg(experiment: &Experiment, outcomes: &[Outcome]) -> Result<Option<String>> {
    let groups = groups(outcomes);
    let title = match experiment.chart {
        Chart::Bars { variant, .. } if !variant.is_empty() => {
            format!("{}/{variant}", experiment.name)
        }
        _ => experiment.name.to_owned(),
    };
    let plain = |group: &&Group<'_>| group.experiment == title;
    let groups: Vec<_> = groups.iter().filter(plain).collect();
    let Some(first) = groups.first() else { return Ok(None) };
    let factor = first.factor;
    let drawing = match experiment.chart {
        Chart::Bars { figures, title, unit, .. } => {
            let one = groups.iter().filter(|it| it.factor.to_bits() == factor.to_bits());
            bars::draw(title, unit, figures, &one.copied().collect::<Vec<_>>())
        }
        Chart::OverFactor { figure, title, unit } => {
            lines::draw(title, ("load over C", unit), &over_factor(&groups, figure, unit), false)
        }
        Chart::OverTime { course, title, unit } => {
            let lines = over_time(&groups, factor, course);
            // Read back from a file, which says nothing of the time between.
            if lines.is_empty() {
                return Ok(None);
            }
            lines::draw(title, ("seconds", unit), &lines, course == Course::Slowest)
        }
    }?;
    Ok(Some(look::themed(&drawing)))
}

fn over_factor(groups: &[&Group<'_>], figure: &str, unit: &str) -> Vec<Line> {
    let point = |group: &&&Group<'_>| {
        let value = group.spread(figure)?.median;
        Some((group.factor, value * scale(unit)))
    };
    let line = |shedder: Shedder| Line {
        shedder,
        points: groups
            .iter()
            .filter(|it| it.shedder == shedder.name())
            .filter_map(|it| point(&it))
            .collect(),
    };
    drawn(line)
}

fn over_time(groups: &[&Group<'_>], factor: f64, course: Course) -> Vec<Line> {
    let line = |shedder: Shedder| {
        let group = groups
            .iter()
            .find(|it| it.shedder == shedder.name() && it.factor.to_bits() == factor.to_bits());
        let bins = group.and_then(|it| it.seeds.first()).map(|it| it.bins.as_slice());
        Line { shedder, points: points(bins.unwrap_or_default(), course) }
    };
    drawn(line)
}

fn drawn(line: impl Fn(Shedder) -> Line) -> Vec<Line> {
    DRAWN.into_iter().map(line).filter(|line| !line.points.is_empty()).collect()
}

fn points(bins: &[Bin], course: Course) -> Vec<(f64, f64)> {
    let point = |(index, some): (usize, &[Bin])| {
        let middle = (index as f64 + 0.5) * BINS_A_POINT as f64 * BIN;
        let value = match course {
            Course::Slowest => some.iter().map(|it| it.slowest_ms).fold(0.0, f64::max),
            Course::ShedShare => {
                let shed: u32 = some.iter().map(|it| it.shed).sum();
                let offered: u32 = some.iter().map(|it| it.offered).sum();
                100.0 * f64::from(shed) / f64::from(offered.max(1))
            }
        };
        (middle, value)
    };
    bins.chunks_exact(BINS_A_POINT).enumerate().map(point).collect()
}

/// Parts are drawn in percent.
fn scale(unit: &str) -> f64 {
    if unit.starts_with('%') { 100.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::{case, record};
    use crate::record::Fate;

    #[test]
    fn every_kind_of_chart_is_drawn_and_an_experiment_without_cases_is_not() {
        let outcome = |shedder, factor| {
            let records = [record(0.1, 2, Fate::Answered, 12.0), record(0.4, 4, Fate::Shed, 1.0)];
            let mut case = case(shedder, factor, 1);
            case.experiment = "degradation";
            Outcome::of(&case, &records, 10.0)
        };
        let outcomes = [
            outcome(Shedder::Plimsoll, 1.25),
            outcome(Shedder::None, 1.25),
            outcome(Shedder::Plimsoll, 2.0),
        ];
        let base = Experiment::ALL[0];
        let over_time = base.chart;
        let bars = Chart::Bars { figures: &["p99_ms"], title: "t", unit: "ms", variant: "" };
        let over_factor = Chart::OverFactor { figure: "p99_ms", title: "t", unit: "ms" };
        for chart in [over_time, bars, over_factor] {
            let svg = svg(&Experiment { chart, ..base }, &outcomes).unwrap().unwrap();
            assert!(svg.starts_with("<svg") && svg.contains("plimsoll"), "{chart:?}");
        }
        assert!(svg(&base, &[]).unwrap().is_none());
    }
}
