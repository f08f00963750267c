//! What balance knows of one host.

/// The figures of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Host {
    pub(crate) capacity: f64,
    pub(crate) load: f64,
    pub(crate) shards: usize,
    /// Of the sum of its loads.
    pub(crate) variance: f64,
    /// Its largest shard.
    pub(crate) largest: f64,
    /// Of the largest shard alone, where that pins the host and somebody asked.
    pub(crate) largest_variance: f64,
}

impl Host {
    /// Load per unit of capacity.
    pub(crate) fn fullness(&self) -> f64 {
        self.load / self.capacity
    }

    /// Its largest shard per unit of capacity.
    pub(crate) fn peak(&self) -> f64 {
        self.largest / self.capacity
    }

    /// Whether its largest shard alone is above the level. It must carry that:
    /// wherever it went, it would be above the share there.
    pub(crate) fn is_pinned(&self, level: f64) -> bool {
        self.peak() > level
    }

    /// Load above what it must or should carry, per unit of capacity; below zero
    /// if there is room.
    pub(crate) fn heat(&self, level: f64) -> f64 {
        match self.is_pinned(level) {
            true => (self.load - self.largest) / self.capacity,
            false => self.fullness() - level,
        }
    }
}
