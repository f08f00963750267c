//! Typical handling times: a median for settings that follow it, and a mean that
//! one odd request cannot pull.

use std::time::Duration;

/// Samples after which the figures are no longer steered by the first ones.
const WARM: u32 = 64;
/// By what part the median moves with each sample; and before it is warm.
const STEP: f64 = 0.03;
const FIRST_STEP: f64 = 0.25;

/// Streaming estimates in constant space.
///
/// The median moves by a fixed ratio towards each sample (stochastic
/// approximation in the logarithm, Robbins and Monro 1951). The mean is an
/// exponential one over about 64 samples, each cut off at sixteen medians.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handling {
    samples: u32,
    median: f64,
    mean: f64,
}

impl Handling {
    /// A handler has answered after so many nanoseconds.
    #[inline(always)]
    pub(crate) fn record(&mut self, nanos: u64) {
        // Signed, since that is one instruction.
        let nanos = nanos.clamp(1, i64::MAX as u64) as i64 as f64;
        if self.samples < WARM {
            return self.record_early(nanos);
        }
        let moved = if nanos > self.median { 1.0 + STEP } else { 1.0 / (1.0 + STEP) };
        self.average(nanos, moved, 1.0 / WARM as f64);
    }

    #[cold]
    fn record_early(&mut self, nanos: f64) {
        if self.samples == 0 {
            *self = Self { samples: 1, median: nanos, mean: nanos };
            return;
        }
        self.samples += 1;
        let step = if self.samples < WARM { FIRST_STEP } else { STEP };
        let moved = if nanos > self.median { 1.0 + step } else { 1.0 / (1.0 + step) };
        self.average(nanos, moved, 1.0 / f64::from(self.samples));
    }

    #[inline]
    fn average(&mut self, nanos: f64, moved: f64, weight: f64) {
        self.median *= moved;
        let most = self.median * 16.0;
        // `f64::min` would look for numbers that are none.
        let counted = if nanos < most { nanos } else { most };
        self.mean += (counted - self.mean) * weight;
    }

    /// Half of the handlers take longer; `None` before the first.
    pub(crate) fn median(&self) -> Option<Duration> {
        (self.samples > 0).then(|| Duration::from_nanos(self.median as u64))
    }

    /// Their mean; `None` before the first.
    pub(crate) fn mean(&self) -> Option<Duration> {
        (self.samples > 0).then(|| Duration::from_nanos(self.mean as u64))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn fed(samples: u32, seed: u64, mut draw: impl FnMut(f64) -> f64) -> Handling {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let mut handling = Handling::default();
        for _ in 0..samples {
            handling.record((draw(random.random()) * 1e9) as u64);
        }
        handling
    }

    #[test]
    fn exponential_times_have_their_median_and_mean_found() {
        for seed in 0..20 {
            let handling = fed(2000, seed, |unit| -0.010 * (1.0 - unit).ln());
            let median = handling.median().unwrap().as_secs_f64();
            let mean = handling.mean().unwrap().as_secs_f64();
            assert!((0.0045..0.0105).contains(&median), "{median}");
            assert!((0.0065..0.0145).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn one_odd_request_moves_the_mean_by_a_quarter_at_most() {
        let mut handling = fed(500, 1, |_| 0.010);
        let before = handling.mean().unwrap();
        handling.record(60_000_000_000);
        assert!(handling.mean().unwrap() < before.mul_f64(1.3));
    }

    #[test]
    fn a_tenfold_rise_is_followed_within_two_hundred_requests() {
        let mut handling = fed(500, 1, |_| 0.010);
        for _ in 0..200 {
            handling.record(100_000_000);
        }
        assert!(handling.median().unwrap() > Duration::from_millis(90));
        assert!(handling.mean().unwrap() > Duration::from_millis(80));
    }

    #[test]
    fn before_the_first_request_nothing_is_claimed() {
        assert_eq!(Handling::default().median(), None);
        assert_eq!(Handling::default().mean(), None);
    }
}
