//! What one executor has, kept while shards and loads come and go.

use crate::measures::ExactSum;
use crate::placer::Tally;
use crate::view::ShardIndex;

use super::count::Count;
use super::entry::Entry;

#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// In no order.
    pub(super) shards: Vec<ShardIndex>,
    pub(super) count: Count,
    variance: ExactSum,
    figures: Figures,
    /// Whether the figures are older than the sums.
    is_stale: bool,
    /// Whether the largest shard has left or shrunk.
    has_lost_largest: bool,
}

/// The sums as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Of measured shards.
    load: f64,
    /// The largest measured load.
    largest: f64,
    /// Of the sum.
    pub(crate) variance: f64,
}

impl Account {
    pub(super) fn add(&mut self, entry: &Entry) {
        self.count.add(entry.load());
        self.variance.add(entry.variance());
        self.figures.largest = self.figures.largest.max(entry.load().unwrap_or(0.0));
    }

    pub(super) fn take(&mut self, entry: &Entry) {
        self.count.take(entry.load());
        self.variance.take(entry.variance());
        self.has_lost_largest |= entry.load().is_some_and(|load| load >= self.figures.largest);
    }

    /// Whether it had not been noted before that its figures are old.
    pub(super) fn age(&mut self) -> bool {
        !std::mem::replace(&mut self.is_stale, true)
    }

    pub(super) fn refresh(&mut self, entries: &[Entry]) {
        if std::mem::take(&mut self.has_lost_largest) {
            let loads = self.shards.iter().filter_map(|shard| entries[shard.0 as usize].load());
            self.figures.largest = loads.fold(0.0, f64::max);
        }
        self.figures.load = self.count.load();
        self.figures.variance = self.variance.value();
        self.is_stale = false;
    }

    pub(crate) fn count(&self) -> &Count {
        &self.count
    }

    pub(crate) fn figures(&self) -> Figures {
        self.figures
    }

    /// What it carries if a shard that nobody has measured counts as `mean`.
    pub(crate) fn tally(&self, mean: f64) -> Tally {
        self.count.tally(self.figures.load, mean)
    }

    /// The largest shard, counted in that way.
    pub(crate) fn largest(&self, mean: f64) -> f64 {
        self.figures.largest.max(if self.count.has_unmeasured() { mean } else { 0.0 })
    }
}
