//! Hosts in order of one figure.

use std::collections::BTreeSet;

use crate::load::Ordered;

/// Ranks from the least figure up; of equals, in order of rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rungs(BTreeSet<(Ordered, u32)>);

impl Rungs {
    pub(crate) fn insert(&mut self, figure: f64, rank: u32) {
        self.0.insert((Ordered(figure), rank));
    }

    pub(crate) fn remove(&mut self, figure: f64, rank: u32) {
        self.0.remove(&(Ordered(figure), rank));
    }

    pub(crate) fn reorder(&mut self, rank: u32, before: f64, after: f64) {
        if Ordered(before) != Ordered(after) {
            self.remove(before, rank);
            self.insert(after, rank);
        }
    }

    /// From the least up.
    pub(crate) fn ascending(&self) -> impl DoubleEndedIterator<Item = (f64, u32)> {
        self.0.iter().map(|&(figure, rank)| (figure.0, rank))
    }

    /// From the most down; of equals, the highest rank first.
    pub(crate) fn descending(&self) -> impl ExactSizeIterator<Item = (f64, u32)> + Clone {
        self.0.iter().rev().map(|&(figure, rank)| (figure.0, rank))
    }

    pub(crate) fn least(&self) -> Option<f64> {
        self.0.first().map(|(figure, _)| figure.0)
    }

    pub(crate) fn most(&self) -> Option<f64> {
        self.0.last().map(|(figure, _)| figure.0)
    }
}

impl FromIterator<(f64, u32)> for Rungs {
    fn from_iter<I: IntoIterator<Item = (f64, u32)>>(rungs: I) -> Self {
        Self(rungs.into_iter().map(|(figure, rank)| (Ordered(figure), rank)).collect())
    }
}
