//! What executors carry, counted in one pass over the shards.

use crate::measures::Sum;
use crate::placer::Tally;
use crate::policy::Mode;
use crate::view::{Load, View};

/// What is known of loads in the whole view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// The mean over measured shards. 1 if there are none: loads are then counts.
    pub(super) mean: f64,
    /// The part of shards that are measured; 1 if there are no shards.
    pub(super) part: f64,
    pub(super) any: bool,
}

/// The shards of one executor, or of all, while they are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    load: Sum,
    measured: usize,
    unmeasured: usize,
}

impl Measured {
    pub(super) fn of(all: Count) -> Self {
        let shards = all.measured + all.unmeasured;
        Self {
            mean: if all.measured > 0 { all.load.value() / all.measured as f64 } else { 1.0 },
            part: if shards > 0 { all.measured as f64 / shards as f64 } else { 1.0 },
            any: all.measured > 0,
        }
    }
}

impl Count {
    pub(super) fn add(&mut self, load: Option<f64>) {
        match load {
            Some(load) => {
                self.load.add(load);
                self.measured += 1;
            }
            None => self.unmeasured += 1,
        }
    }

    pub(super) fn tally(self, mean: f64) -> Tally {
        Tally {
            load: self.load.value() + self.unmeasured as f64 * mean,
            shards: self.measured + self.unmeasured,
        }
    }
}

/// Everything together, and by executor, in one pass over the shards.
pub(super) fn count(view: &View, mode: Mode) -> (Count, Vec<Count>) {
    let mut all = Count::default();
    let mut counts = vec![Count::default(); view.executors.len()];
    for shard in &view.shards {
        let load = shard.load.map(|load| reading(mode, load));
        all.add(load);
        if let Some(owner) = shard.owner {
            counts[owner.0 as usize].add(load);
        }
    }
    (all, counts)
}

/// The load that a mode goes by.
pub(super) fn reading(mode: Mode, load: Load) -> f64 {
    match mode {
        Mode::Naive => load.reported,
        Mode::Ring | Mode::Greedy | Mode::Adaptive => load.smoothed,
    }
}
