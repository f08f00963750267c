//! What a service's instances saw lately: who called what, at which level, and what
//! became of it, in slices of ten seconds.
//!
//! For people who look and for [previews](crate::policy::Preview); nothing is admitted
//! or refused by it. A slice is named by a number that grows by one every ten seconds,
//! the same wherever it is counted, so that what several servers saw adds up.

mod figures;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::Duration;

use crate::criticality::Criticality;

pub use figures::{Counts, Figures, Rule, Spread};
pub use window::{MAX_CALLER_BYTES, MAX_ENDPOINT_BYTES, ROWS_A_SLICE, SLICES, Window};

/// What a slice covers.
pub const SLICE: Duration = Duration::from_secs(10);
/// Stands for endpoints and callers beyond a bound.
pub const OTHERS: &str = "(others)";

/// What is counted apart.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Row {
    pub endpoint: Arc<str>,
    /// Empty: the caller gave no name.
    pub caller: Arc<str>,
    pub level: Criticality,
}

/// Ten seconds of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    pub rows: BTreeMap<Row, Figures>,
    /// Of all queues of all instances.
    pub limit: u32,
    pub in_flight: u32,
}

/// Slices of a service by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    pub slices: BTreeMap<u64, Slice>,
}

impl Slice {
    /// Adds what another server saw in the same ten seconds.
    pub fn merge(&mut self, other: Self) {
        for (row, figures) in other.rows {
            self.rows.entry(row).or_default().merge(&figures);
        }
        self.limit = self.limit.saturating_add(other.limit);
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
    }

    /// Of the endpoint that waited the longest.
    pub fn queue_wait_p99(&self) -> Duration {
        self.rows.values().map(|figures| figures.queue_wait.p99).max().unwrap_or_default()
    }

    /// What became of the requests of each level.
    pub fn levels(&self) -> BTreeMap<Criticality, Counts> {
        let mut levels = BTreeMap::<Criticality, Counts>::new();
        for (row, figures) in &self.rows {
            levels.entry(row.level).or_default().add(&figures.counts);
        }
        levels
    }
}

impl Traffic {
    /// Adds what another server saw.
    pub fn merge(&mut self, other: Self) {
        for (number, slice) in other.slices {
            self.slices.entry(number).or_default().merge(slice);
        }
    }

    /// From the first slice to the last; zero if there is none.
    pub fn over(&self) -> Duration {
        let ends = self.slices.first_key_value().zip(self.slices.last_key_value());
        let count = ends.map_or(0, |((first, _), (last, _))| last - first + 1);
        SLICE.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Every row over all slices. What gave a row its level is what did so last.
    pub fn rows(&self) -> BTreeMap<Row, Figures> {
        let mut rows = BTreeMap::<Row, Figures>::new();
        for slice in self.slices.values() {
            for (row, figures) in &slice.rows {
                let sum = rows.entry(row.clone()).or_default();
                sum.merge(figures);
                sum.rule = figures.rule;
            }
        }
        rows
    }

    /// What became of all requests in those slices.
    pub fn within(&self, numbers: impl RangeBounds<u64>) -> Counts {
        let mut sum = Counts::default();
        let rows = self.slices.range(numbers).flat_map(|(_, slice)| slice.rows.values());
        rows.for_each(|figures| sum.add(&figures.counts));
        sum
    }

    /// Callers that no rule gives a level, somewhere, as of when each was last seen.
    pub fn unclassified(&self) -> BTreeSet<Arc<str>> {
        let rows = self.rows().into_iter();
        let unclassified = rows
            .filter(|(row, figures)| figures.rule == Rule::Default && &*row.caller != OTHERS)
            .map(|(row, _)| row.caller);
        unclassified.collect()
    }
}
