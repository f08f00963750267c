//! The shards of one host in order of load, kept while loads change.

use std::collections::BTreeSet;

use crate::load::Ordered;
use crate::view::ShardIndex;

use super::entry::Entry;

/// Those that have been measured, lightest first; of equals, in order of hash.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ByLoad(BTreeSet<Rung>);

type Rung = (Ordered, u64, ShardIndex);

impl ByLoad {
    /// Of these shards, by shard in `entries`.
    pub(super) fn of(shards: &[ShardIndex], entries: &[Entry]) -> Self {
        let rung = |&shard: &ShardIndex| rung(shard, &entries[shard.0 as usize]);
        Self(shards.iter().filter_map(rung).collect())
    }

    pub(super) fn insert(&mut self, shard: ShardIndex, entry: &Entry) {
        self.0.extend(rung(shard, entry));
    }

    pub(super) fn remove(&mut self, shard: ShardIndex, entry: &Entry) {
        if let Some(rung) = rung(shard, entry) {
            self.0.remove(&rung);
        }
    }

    pub(super) fn largest(&self) -> f64 {
        self.0.last().map_or(0.0, |(load, ..)| load.0)
    }

    /// The lightest first.
    pub(crate) fn shards(&self) -> impl DoubleEndedIterator<Item = ShardIndex> {
        self.0.iter().map(|&(.., shard)| shard)
    }

    /// The heaviest first.
    pub(crate) fn loads(&self) -> impl Iterator<Item = f64> {
        self.0.iter().rev().map(|(load, ..)| load.0)
    }
}

fn rung(shard: ShardIndex, entry: &Entry) -> Option<Rung> {
    entry.load().map(|load| (Ordered(load), entry.key_hash, shard))
}
