//! Critical requests alone are more than the service carries: what the seed leaves
//! open, and where its literal reading collapses.

use super::{Chart, Experiment, SHORT, Scope, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::record::{Fate, Record};

const NAME: &str = "critical-alone";
/// Critical load, and the other's.
const LOADS: [(f64, f64); 2] = [(1.3, 0.7), (2.0, 1.0)];
/// A refusal of a critical request counts as now for so long, in seconds.
const NOW: f64 = 0.1;
/// The first second, in which the overload is noticed, does not count.
const NOTICED: f64 = 1.0;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G7",
    about: "critical load of 1.3 C (with 0.7 C of others) and of 2 C (with 1 C); a factor is the critical load",
    cases,
    columns: &[
        "goodput_over_c",
        "critical_success",
        "other_admitted",
        "leaked",
        "p99_ms",
        "answered_late",
    ],
    relative: &[],
    goals: &[
        goal("goodput over C at 1.3 C", 1.3, "goodput_over_c", Of::Median, Bound::AtLeast(0.97)),
        goal("goodput over C at 2 C", 2.0, "goodput_over_c", Of::Median, Bound::AtLeast(0.97)),
        goal(
            "others admitted beside a refusal, 1.3 C",
            1.3,
            "leaked",
            Of::Worst,
            Bound::AtMost(0.0),
        ),
        goal("others admitted beside a refusal, 2 C", 2.0, "leaked", Of::Worst, Bound::AtMost(0.0)),
        goal("answered late, 1.3 C", 1.3, "answered_late", Of::Median, Bound::AtMost(0.01)),
        goal("answered late, 2 C", 2.0, "answered_late", Of::Median, Bound::AtMost(0.01)),
    ],
    chart: Chart::OverFactor {
        figure: "goodput_over_c",
        title: "Goodput, critical load alone above C",
        unit: "% of C",
    },
};

const fn goal(
    about: &'static str,
    factor: f64,
    figure: &'static str,
    of: Of,
    bound: Bound,
) -> Goal {
    Goal { about, number: "G7", variant: "", factor: Some(factor), figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(10.0, 6.0);
    let at = |(critical, other): (f64, f64)| {
        scope.each(&SHORT, move |shedder, seed| {
            let streams = two_levels(critical, other, span);
            Case { extra, ..io_case(NAME, shedder, seed, critical, span, streams) }
        })
    };
    LOADS.into_iter().flat_map(at).collect()
}

/// Others that were admitted, as a part of those offered; and the number of those
/// admitted within a tenth of a second after a critical request was turned away.
fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    let settled: Vec<_> = records.iter().filter(|it| it.at >= NOTICED).collect();
    let critical = settled.iter().filter(|it| it.asked.level.is_critical());
    let refused: Vec<f64> =
        critical.clone().filter(|it| it.turned_away()).map(|it| it.ended_at()).collect();
    let others = settled.iter().filter(|it| !it.asked.level.is_critical());
    let admitted: Vec<f64> =
        others.clone().filter(|it| !it.turned_away()).map(|it| it.at).collect();
    let late = settled.iter().filter(|it| it.fate == Fate::Answered && !it.in_time()).count();
    vec![
        ("other_admitted", admitted.len() as f64 / others.count().max(1) as f64),
        ("leaked", leaked(refused, &admitted) as f64),
        ("answered_late", late as f64 / settled.len().max(1) as f64),
    ]
}

fn leaked(mut refused: Vec<f64>, admitted: &[f64]) -> usize {
    refused.sort_by(f64::total_cmp);
    let beside = |at: f64| {
        let next = refused.partition_point(|&it| it <= at);
        next > 0 && at - refused[next - 1] <= NOW
    };
    admitted.iter().filter(|&&at| beside(at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_was_admitted_shortly_after_a_refusal_leaked() {
        assert_eq!(leaked(vec![2.0, 1.0], &[0.95, 1.0, 1.05, 1.2, 1.99, 2.09, 2.11]), 3);
        assert_eq!(leaked(vec![], &[1.0]), 0);
    }
}
