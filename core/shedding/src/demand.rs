//! How much is asked for: arrivals per second of each level.

use std::time::Duration;

use crate::criticality::Criticality;

/// Slots over which arrivals are averaged: two windows of the detector.
const MEMORY: f64 = 20.0;

/// Exponential averages, one a level.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Demand {
    /// First, beside what else every request writes: see [`crate::queue::Queue`].
    arrived: [u32; 4],
    rates: [f64; 4],
    /// Arrivals with a memory of one second: whether there is traffic at all.
    lately: f64,
}

impl Demand {
    /// A request of that level has arrived.
    #[inline]
    pub(crate) fn arrived(&mut self, level: Criticality) {
        self.arrived[level.index()] += 1;
    }

    /// Closes `passed` slots of that length; returns how many arrived in them.
    pub(crate) fn fold(&mut self, slot: Duration, passed: u64) -> u32 {
        let seconds = slot.as_secs_f64() * passed as f64;
        let kept = (-(passed as f64) / MEMORY).exp();
        for (rate, arrived) in self.rates.iter_mut().zip(self.arrived) {
            *rate = *rate * kept + f64::from(arrived) / seconds * (1.0 - kept);
        }
        let arrived: u32 = self.arrived.iter().sum();
        self.lately = self.lately * (-seconds).exp() + f64::from(arrived);
        self.arrived = [0; 4];
        arrived
    }

    /// Of all levels, per second.
    pub(crate) fn total(&self) -> f64 {
        self.rates.iter().sum()
    }

    /// Of what is more critical than `level`, per second.
    pub(crate) fn above(&self, level: Criticality) -> f64 {
        self.rates[..level.index()].iter().sum()
    }

    /// Roughly the arrivals of the last second.
    pub(crate) fn last_second(&self) -> f64 {
        self.lately + f64::from(self.arrived.iter().sum::<u32>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_millis(10);

    #[test]
    fn a_steady_stream_is_measured_by_level() {
        let mut demand = Demand::default();
        for _ in 0..200 {
            (0..8).for_each(|_| demand.arrived(Criticality::CoreFlow));
            (0..2).for_each(|_| demand.arrived(Criticality::Internal));
            demand.fold(SLOT, 1);
        }
        assert!((demand.total() - 1000.0).abs() < 1.0);
        assert!((demand.above(Criticality::Internal) - 800.0).abs() < 1.0);
        assert!((800.0..1000.0).contains(&demand.last_second()));
    }

    #[test]
    fn what_stopped_is_forgotten_however_the_slots_are_counted() {
        let mut demand = Demand::default();
        for _ in 0..200 {
            (0..10).for_each(|_| demand.arrived(Criticality::Feature));
            demand.fold(SLOT, 1);
        }
        let mut slowly = demand.clone();
        demand.fold(SLOT, 60);
        for _ in 0..60 {
            slowly.fold(SLOT, 1);
        }
        assert!((demand.total() - slowly.total()).abs() < 1e-6);
        assert!(demand.total() < 60.0);
    }
}
