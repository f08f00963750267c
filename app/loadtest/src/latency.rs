//! Latencies as a histogram with three significant digits, and their percentiles.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Values of a histogram differ from what was measured by at most 0.1 %.
const DIGITS: u8 = 3;

/// Longer than anything that a plan allows to last.
const LONGEST_MICROS: u64 = 2 * 3600 * 1_000_000;

/// Measured times, in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    micros: Histogram<u32>,
}

impl Default for Latency {
    fn default() -> Self {
        // A number of digits from 0 to 5 is always taken.
        let micros = Histogram::new(DIGITS).unwrap_or_else(|_| unreachable!("three digits"));
        Self { micros }
    }
}

impl Latency {
    pub(crate) fn record(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(LONGEST_MICROS);
        // It grows as needed, so that recording cannot fail.
        let _ = self.micros.record(micros.clamp(1, LONGEST_MICROS));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        // Both grow as needed, so that adding cannot fail.
        let _ = self.micros.add(&other.micros);
    }

    pub(crate) fn clear(&mut self) {
        self.micros.reset();
    }

    /// A percentile in milliseconds; `None` if nothing was measured.
    pub(crate) fn at(&self, percent: f64) -> Option<f64> {
        let micros = || self.micros.value_at_percentile(percent).min(self.micros.max());
        (!self.micros.is_empty()).then(|| millis(micros() as f64))
    }

    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        Some(Percentiles {
            count: self.micros.len(),
            mean_ms: millis(self.micros.mean()),
            p50_ms: self.at(50.0)?,
            p90_ms: self.at(90.0)?,
            p95_ms: self.at(95.0)?,
            p99_ms: self.at(99.0)?,
            p999_ms: self.at(99.9)?,
            max_ms: self.at(100.0)?,
        })
    }
}

fn millis(micros: f64) -> f64 {
    micros.round() / 1000.0
}

/// Percentiles of measured times, in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Percentiles {
    /// How many were measured.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ms: f64,
    /// Half took no longer.
    pub p50_ms: f64,
    /// Nine in ten took no longer.
    pub p90_ms: f64,
    /// 95 in 100 took no longer.
    pub p95_ms: f64,
    /// 99 in 100 took no longer.
    pub p99_ms: f64,
    /// 999 in 1000 took no longer.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut latency = Latency::default();
        (1..=10_000).for_each(|n| latency.record(Duration::from_micros(n * 100)));
        let found = latency.percentiles().unwrap();
        assert_eq!(found.count, 10_000);
        for (value, exact) in [
            (found.p50_ms, 500.0),
            (found.p99_ms, 990.0),
            (found.p999_ms, 999.0),
            (found.max_ms, 1000.0),
            (found.mean_ms, 500.05),
        ] {
            assert!((value - exact).abs() <= exact / 1000.0, "{value} for {exact}");
        }
    }

    #[test]
    fn nothing_measured_has_no_percentiles() {
        assert_eq!(Latency::default().percentiles(), None);
    }

    #[test]
    fn adding_is_recording_both() {
        let (mut one, mut other) = (Latency::default(), Latency::default());
        one.record(Duration::from_millis(1));
        other.record(Duration::from_secs(100));
        one.add(&other);
        assert_eq!(one.percentiles().unwrap().count, 2);
        assert!(one.at(100.0).unwrap() > 99_900.0);
    }
}
