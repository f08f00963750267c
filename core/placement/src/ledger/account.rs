//! What one executor has, kept while shards and loads come and go.

use crate::measures::ExactSum;
use crate::placer::Tally;
use crate::view::ShardIndex;

use super::by_load::ByLoad;
use super::count::Count;
use super::entry::Entry;

#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// In no order.
    pub(super) shards: Vec<ShardIndex>,
    pub(super) count: Count,
    variance: ExactSum,
    /// Made when the executor changes for the second time: a ledger that plans once
    /// needs none.
    by_load: Option<ByLoad>,
    figures: Figures,
    /// Whether the figures are older than the sums.
    is_stale: bool,
    /// Whether a plan has been made with it.
    is_known: bool,
    /// Whether the largest shard has left or shrunk before there was an order.
    has_lost_largest: bool,
}

/// The sums as numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// Of measured shards.
    load: f64,
    /// The largest measured load.
    largest: f64,
    /// Of the sum.
    variance: f64,
}

impl Account {
    pub(super) fn add(&mut self, shard: ShardIndex, entry: &Entry) {
        self.count.add(entry.load());
        self.variance.add(entry.variance());
        match &mut self.by_load {
            Some(by_load) => by_load.insert(shard, entry),
            None => self.figures.largest = self.figures.largest.max(entry.load().unwrap_or(0.0)),
        }
    }

    pub(super) fn take(&mut self, shard: ShardIndex, entry: &Entry) {
        self.count.take(entry.load());
        self.variance.take(entry.variance());
        match &mut self.by_load {
            Some(by_load) => by_load.remove(shard, entry),
            None => {
                let is_largest = |load| load >= self.figures.largest;
                self.has_lost_largest |= entry.load().is_some_and(is_largest);
            }
        }
    }

    /// Whether it had not been noted before that its figures are old.
    pub(super) fn age(&mut self) -> bool {
        !std::mem::replace(&mut self.is_stale, true)
    }

    pub(super) fn refresh(&mut self, entries: &[Entry]) {
        if self.by_load.is_none() && (self.is_known || self.has_lost_largest) {
            self.by_load = Some(ByLoad::of(&self.shards, entries));
        }
        if let Some(by_load) = &self.by_load {
            self.figures.largest = by_load.largest();
        }
        self.figures.load = self.count.load();
        self.figures.variance = self.variance.value();
        (self.is_stale, self.is_known) = (false, true);
    }

    pub(crate) fn count(&self) -> &Count {
        &self.count
    }

    /// Of the sum of its loads.
    pub(crate) fn variance(&self) -> f64 {
        self.figures.variance
    }

    /// Its shards in order of load, if that is kept and all are measured.
    pub(crate) fn by_load(&self) -> Option<&ByLoad> {
        self.by_load.as_ref().filter(|_| !self.count.has_unmeasured())
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::policy::Mode;
    use crate::view::{Load, ShardView};

    fn entry(shard: u32, load: Option<u8>) -> Entry {
        let load = load.map(|load| Load::exactly(load.into()));
        Entry::of(&ShardView { load, ..ShardView::new(u64::from(shard % 3)) }, Mode::Adaptive)
    }

    proptest! {
        #[test]
        fn an_order_that_was_kept_is_as_one_made_anew(
            changes in vec((0..8u32, proptest::option::of(0..5u8), any::<bool>()), 0..40),
        ) {
            let shards: Vec<ShardIndex> = (0..8).map(ShardIndex).collect();
            let mut entries: Vec<Entry> = (0..8).map(|shard| entry(shard, Some(1))).collect();
            let mut account = Account { shards: shards.clone(), ..Account::default() };
            for (&shard, entry) in shards.iter().zip(&entries) {
                account.add(shard, entry);
            }
            for (shard, load, is_cycle) in changes {
                account.take(ShardIndex(shard), &entries[shard as usize]);
                entries[shard as usize] = entry(shard, load);
                account.add(ShardIndex(shard), &entries[shard as usize]);
                if is_cycle {
                    account.refresh(&entries);
                    let anew = ByLoad::of(&shards, &entries);
                    prop_assert_eq!(account.figures.largest, anew.largest());
                    prop_assert!(account.by_load.is_none_or(|kept| kept == anew));
                    account.by_load = Some(anew);
                }
            }
        }
    }
}
