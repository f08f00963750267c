//! Hosts in order of one figure.

use std::collections::BTreeSet;

use crate::load::Ordered;

use super::host::Host;

/// If one host in so many goes elsewhere, the order is made anew.
pub(super) const ANEW: usize = 8;

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

    /// Every host by that figure, by rank in `hosts`.
    pub(super) fn of(hosts: &[Host], figure: &dyn Fn(&Host) -> f64) -> Self {
        hosts.iter().map(figure).zip(0..).collect()
    }

    /// Puts hosts elsewhere that have changed; `before` is what they were.
    pub(super) fn follow(
        &mut self,
        before: &[(u32, Host)],
        hosts: &[Host],
        figure: &dyn Fn(&Host) -> f64,
    ) {
        let step = |&(rank, ref host): &(u32, Host)| {
            let (from, to) = (figure(host), figure(&hosts[rank as usize]));
            (Ordered(from) != Ordered(to)).then_some((rank, from, to))
        };
        let steps: Vec<_> = before.iter().filter_map(step).collect();
        if steps.len() * ANEW > hosts.len() {
            *self = Self::of(hosts, figure);
            return;
        }
        for (rank, from, to) in steps {
            self.remove(from, rank);
            self.insert(to, rank);
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
