//! Shards counted, and their loads added up.

use crate::measures::ExactSum;
use crate::placer::Tally;
use crate::policy::Mode;
use crate::view::Load;

/// What is known of loads in a whole namespace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The mean over measured shards. 1 if there are none: loads are then counts.
    pub(crate) mean: f64,
    /// The part of shards that are measured; 1 if there are no shards.
    pub(crate) part: f64,
    pub(crate) any: bool,
}

/// The shards of one executor, or of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    load: ExactSum,
    measured: usize,
    unmeasured: usize,
}

impl Measured {
    pub(crate) fn of(all: &Count) -> Self {
        let shards = all.shards();
        Self {
            mean: if all.measured > 0 { all.load.value() / all.measured as f64 } else { 1.0 },
            part: if shards > 0 { all.measured as f64 / shards as f64 } else { 1.0 },
            any: all.measured > 0,
        }
    }
}

impl Count {
    pub(crate) fn add(&mut self, load: Option<f64>) {
        match load {
            Some(load) => {
                self.load.add(load);
                self.measured += 1;
            }
            None => self.unmeasured += 1,
        }
    }

    /// Takes out what was added.
    pub(crate) fn take(&mut self, load: Option<f64>) {
        match load {
            Some(load) => {
                self.load.take(load);
                self.measured -= 1;
            }
            None => self.unmeasured -= 1,
        }
    }

    pub(crate) fn shards(&self) -> usize {
        self.measured + self.unmeasured
    }

    pub(crate) fn has_unmeasured(&self) -> bool {
        self.unmeasured > 0
    }

    /// The sum over measured shards.
    pub(crate) fn load(&self) -> f64 {
        self.load.value()
    }

    /// With that sum, and what others count for.
    pub(crate) fn tally(&self, load: f64, mean: f64) -> Tally {
        Tally { load: load + self.unmeasured as f64 * mean, shards: self.shards() }
    }
}

/// The load that a mode goes by.
pub(crate) fn reading(mode: Mode, load: Load) -> f64 {
    match mode {
        Mode::Naive => load.reported,
        Mode::Ring | Mode::Greedy | Mode::Adaptive => load.smoothed,
    }
}
