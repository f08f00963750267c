//! Every figure of every case: one line a figure, so that it can be pivoted. What a
//! run wrote, a later one can read: a record is then taken in two parts.
//!
//! What happened over time is not in it: charts of that are drawn by the run itself.

mod read;

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::capacity::{Capacities, Here, Served};
use crate::outcome::Outcome;

pub use read::read;

const HEADS: &str = "experiment,shedder,factor,seed,capacity_rps,figure,value";
/// Instead of an experiment: the capacities that were measured first.
const CAPACITY: &str = "capacity";

/// The file's text.
pub fn text(outcomes: &[Outcome], capacities: &Capacities) -> String {
    let mut text = format!("{HEADS}\n");
    for (place, rate, figure, value) in of_capacities(capacities) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{CAPACITY}/{place},none,0,0,{rate:.1},{figure},{value}");
    }
    for outcome in outcomes {
        let row = &outcome.row;
        let case = format!(
            "{},{},{},{},{:.1}",
            row.experiment, row.shedder, row.factor, row.seed, row.capacity_rps
        );
        for (figure, value) in figures(outcome) {
            let _ = writeln!(text, "{case},{figure},{value}");
        }
    }
    text
}

/// Place, requests a second, figure, value.
fn of_capacities(capacities: &Capacities) -> Vec<(&'static str, f64, &'static str, f64)> {
    let mut lines = Vec::new();
    if let Some(Here { together, at_once, alone, idle_p50_ms, idle_p99_ms }) = capacities.here {
        let figures = [
            ("together", together),
            ("at_once", at_once as f64),
            ("alone", alone),
            ("idle_p50_ms", idle_p50_ms),
            ("idle_p99_ms", idle_p99_ms),
        ];
        lines.extend(figures.map(|(figure, value)| ("here", together, figure, value)));
    }
    let sockets = capacities.sockets.iter();
    lines.extend(sockets.flat_map(|&Served { kind, together, at_once, alone }| {
        let figures = [("together", together), ("at_once", at_once as f64), ("alone", alone)];
        figures.map(|(figure, value)| (kind.word(), together, figure, value))
    }));
    lines
}

fn figures(outcome: &Outcome) -> Vec<(String, f64)> {
    let counts = outcome.counts;
    let counted = [
        ("offered", counts.offered),
        ("answered", counts.answered),
        ("shed", counts.shed),
        ("expired", counts.expired),
        ("failed", counts.failed),
        ("unfinished", counts.unfinished),
    ];
    let mut figures: Vec<(String, f64)> =
        counted.map(|(name, count)| (name.to_owned(), count as f64)).to_vec();
    let known = outcome.figures.iter().filter(|(name, _)| !counted.iter().any(|it| it.0 == **name));
    figures.extend(known.map(|(name, value)| (name.clone().into_owned(), *value)));
    let row = &outcome.row;
    let levels = |name: &str, shares: &BTreeMap<u8, f64>| {
        let named = |(level, share): (&u8, &f64)| (format!("{name}{level}"), *share);
        shares.iter().map(named).collect::<Vec<_>>()
    };
    figures.extend(levels(SUCCESS, &row.success_by_level));
    figures.extend(levels(SHED, &row.shed_share_by_level));
    figures
}

/// Figures whose names end in a level.
const SUCCESS: &str = "success_level_";
const SHED: &str = "shed_share_level_";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::{case, record};
    use crate::record::Fate;
    use crate::shedders::Shedder;

    #[test]
    fn a_figure_is_a_line_and_none_comes_twice() {
        let records = [record(0.1, 2, Fate::Answered, 12.0)];
        let text = text(
            &[Outcome::of(&case(Shedder::None, 2.0, 3), &records, 10.0)],
            &Capacities::known(10.0),
        );
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.contains(&"trial,none,2,3,10.0,p99_ms,12"), "{text}");
        assert!(lines.contains(&"trial,none,2,3,10.0,success_level_2,1"), "{text}");
        let mut unique = lines.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), lines.len());
    }
}
