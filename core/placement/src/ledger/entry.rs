//! One shard in the ledger, in 32 bytes: there may be a million of these. What few
//! shards have (a cost of their own, a recent move) is in side tables.

use crate::coarse::Coarse;
use crate::policy::Mode;
use crate::view::{ExecutorIndex, Load, ShardView};

use super::count::reading;

/// No executor has this index.
const NOBODY: u32 = u32::MAX;

/// A shard, or a gap where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key_hash: u64,
    /// By [`Mode`]; 0 if nobody has measured it.
    load: f64,
    variance: Coarse,
    owner: u32,
    /// Its place in its owner's list.
    pub(super) place: u32,
    pub(super) is_there: bool,
    is_measured: bool,
    pub(super) is_fixed: bool,
    /// In the table of costs.
    pub(super) has_cost: bool,
}

impl Entry {
    pub(super) const GAP: Self = Self {
        key_hash: 0,
        load: 0.0,
        variance: Coarse::NOTHING,
        owner: NOBODY,
        place: 0,
        is_there: false,
        is_measured: false,
        is_fixed: false,
        has_cost: false,
    };

    pub(super) fn of(shard: &ShardView, mode: Mode) -> Self {
        Self {
            key_hash: shard.key_hash,
            load: shard.load.map_or(0.0, |load| reading(mode, load)),
            variance: shard.load.map_or(Coarse::NOTHING, |load| Coarse::of(load.variance)),
            owner: shard.owner.map_or(NOBODY, |owner| owner.0),
            place: 0,
            is_there: true,
            is_measured: shard.load.is_some(),
            is_fixed: shard.fixed,
            has_cost: shard.cost != 1.0,
        }
    }

    pub(super) fn with_load(&self, load: Load, mode: Mode) -> Self {
        Self {
            load: reading(mode, load),
            variance: Coarse::of(load.variance),
            is_measured: true,
            ..*self
        }
    }

    pub(super) fn owner(&self) -> Option<ExecutorIndex> {
        (self.owner != NOBODY).then_some(ExecutorIndex(self.owner))
    }

    /// `None`: nobody has measured it.
    pub(super) fn load(&self) -> Option<f64> {
        self.is_measured.then_some(self.load)
    }

    pub(super) fn variance(&self) -> f64 {
        self.variance.value()
    }

    /// Whether somebody should have it and nobody does.
    pub(super) fn wants_owner(&self) -> bool {
        self.is_there && !self.is_fixed && self.owner == NOBODY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_takes_32_bytes() {
        assert_eq!(size_of::<Entry>(), 32);
    }
}
