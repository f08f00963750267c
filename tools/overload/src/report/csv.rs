//! Every figure of every case: one line a figure, so that it can be pivoted.

use std::fmt::Write;

use crate::outcome::Outcome;

/// The file's text.
pub fn text(outcomes: &[Outcome]) -> String {
    let mut text = "experiment,shedder,factor,seed,capacity_rps,figure,value\n".to_owned();
    for outcome in outcomes {
        let row = &outcome.row;
        let case = format!(
            "{},{},{},{},{:.1}",
            row.experiment, row.shedder, row.factor, row.seed, row.capacity_rps
        );
        for (figure, value) in figures(outcome) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{case},{figure},{value}");
        }
    }
    text
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
    figures.extend(known.map(|(name, value)| ((*name).to_owned(), *value)));
    let row = &outcome.row;
    let levels = |name: &str, shares: &std::collections::BTreeMap<u8, f64>| {
        let named = |(level, share): (&u8, &f64)| (format!("{name}_level_{level}"), *share);
        shares.iter().map(named).collect::<Vec<_>>()
    };
    figures.extend(levels("success", &row.success_by_level));
    figures.extend(levels("shed_share", &row.shed_share_by_level));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::{case, record};
    use crate::record::Fate;
    use crate::shedders::Shedder;

    #[test]
    fn a_figure_is_a_line_and_none_comes_twice() {
        let records = [record(0.1, 2, Fate::Answered, 12.0)];
        let text = text(&[Outcome::of(&case(Shedder::None, 2.0, 3), &records, 10.0)]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.contains(&"trial,none,2,3,10.0,p99_ms,12"), "{text}");
        assert!(lines.contains(&"trial,none,2,3,10.0,success_level_2,1"), "{text}");
        let mut unique = lines.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), lines.len());
    }
}
