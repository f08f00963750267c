//! What a run prints, draws and writes.

pub mod chart;
pub mod csv;
pub mod goals;
pub mod json;
pub mod page;
pub mod table;

use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::stats::median;

/// Cases that differ in nothing but the seed.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    pub experiment: &'a str,
    pub shedder: &'static str,
    pub factor: f64,
    pub seeds: Vec<&'a Outcome>,
}

/// The middle, the least and the greatest of some seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

/// Groups in the order in which their first cases come.
pub fn groups(outcomes: &[Outcome]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known = BTreeMap::new();
    for outcome in outcomes {
        let row = &outcome.row;
        let key = (row.experiment.as_str(), row.shedder, row.factor.to_bits());
        let at = *known.entry(key).or_insert_with(|| {
            let (experiment, shedder, factor) = (key.0, key.1, row.factor);
            groups.push(Group { experiment, shedder, factor, seeds: Vec::new() });
            groups.len() - 1
        });
        groups[at].seeds.push(outcome);
    }
    groups
}

impl Group<'_> {
    /// A figure over the seeds that have it.
    pub fn spread(&self, figure: &str) -> Option<Spread> {
        let values: Vec<f64> = self.seeds.iter().filter_map(|it| it.figure(figure)).collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some(Spread { median: median(&values)?, least, most })
    }
}

/// A number with as many digits as it deserves.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}
