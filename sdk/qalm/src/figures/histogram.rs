//! Durations in fixed buckets: two additions a sample, no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets in seconds, included: from what a free place costs
/// to a deadline of ten seconds. One more bucket has no bound.
pub(crate) const BOUNDS: [f64; 14] =
    [100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 2.0, 10.0];

/// The same in nanoseconds.
const NANOS: [u64; BOUNDS.len()] = {
    let mut nanos = [0; BOUNDS.len()];
    let mut at = 0;
    while at < BOUNDS.len() {
        nanos[at] = (BOUNDS[at] * 1e9 + 0.5) as u64;
        at += 1;
    }
    nanos
};

#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    pub(crate) fn record(&self, span: Duration) {
        // 64 bits of nanoseconds are 584 years of waiting; then it wraps.
        let nanos = span.as_nanos() as u64;
        let bucket = NANOS.partition_point(|&bound| nanos > bound);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// How many were in each bucket, the one without a bound last.
    pub(crate) fn counts(&self) -> [u64; BOUNDS.len() + 1] {
        std::array::from_fn(|bucket| self.buckets[bucket].load(Ordering::Relaxed))
    }

    /// The bound in seconds that this part of all samples does not exceed, 0 to 1;
    /// infinite beyond the last. `None`: there are no samples.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let counts = self.counts();
        let total: u64 = counts.iter().sum();
        let wanted = (total as f64 * part).ceil() as u64;
        let mut below = 0;
        let bucket = counts.iter().position(|count| {
            below += count;
            below >= wanted && below > 0
        })?;
        Some(BOUNDS.get(bucket).copied().unwrap_or(f64::INFINITY))
    }

    /// All samples together, in seconds.
    #[cfg(any(test, feature = "prometheus"))]
    pub(crate) fn sum(&self) -> f64 {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_in_the_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::default();
        let samples = [0, 100, 101, 10_000_000, 10_000_001];
        samples.into_iter().for_each(|micros| histogram.record(Duration::from_micros(micros)));
        let counts = histogram.counts();
        assert_eq!((counts[0], counts[1], counts[13], counts[14]), (2, 1, 1, 1));
        assert_eq!(counts.iter().sum::<u64>(), samples.len() as u64);
        assert_eq!(histogram.quantile(0.4), Some(100e-6));
        assert_eq!(histogram.quantile(0.8), Some(10.0));
        assert_eq!(histogram.quantile(1.0), Some(f64::INFINITY));
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert!((histogram.sum() - 20.000_202).abs() < 1e-9);
    }
}
