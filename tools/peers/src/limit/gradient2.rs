//! `Gradient2Limit`: a short response time against a long average of them.
//!
//! `gradient = clamp(1.5 * long / short, 0.5, 1)`,
//! `limit = 0.8 * limit + 0.2 * (gradient * limit + 4)`, 20 to 200.

use std::time::Duration;

use plimsoll_shedding::Time;

use super::Limit;

const TOLERANCE: f64 = 1.5;
const QUEUE: f64 = 4.0;
const SMOOTHING: f64 = 0.2;
const LEAST: f64 = 20.0;
const MOST: f64 = 200.0;
const LONG_WINDOW: f64 = 600.0;
const WARM_UP: f64 = 10.0;

/// Netflix' gradient limit with its defaults.
#[derive(Debug)]
pub struct Gradient2 {
    limit: f64,
    long: f64,
    samples: f64,
}

impl Default for Gradient2 {
    fn default() -> Self {
        Self { limit: LEAST, long: 0.0, samples: 0.0 }
    }
}

impl Gradient2 {
    /// A plain mean of the first ten samples, an exponential one from then on.
    fn average(&mut self, short: f64) -> f64 {
        if self.samples < WARM_UP {
            self.samples += 1.0;
            self.long += (short - self.long) / self.samples;
        } else {
            self.long += (short - self.long) * 2.0 / (LONG_WINDOW + 1.0);
        }
        self.long
    }
}

impl Limit for Gradient2 {
    fn limit(&self) -> f64 {
        self.limit
    }

    fn sample(&mut self, _now: Time, took: Duration, inflight: usize) {
        let short = took.as_secs_f64().max(1e-9);
        let long = self.average(short);
        if long / short > 2.0 {
            self.long *= 0.95;
        }
        if (inflight as f64) < self.limit / 2.0 {
            return;
        }
        let gradient = (TOLERANCE * long / short).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + QUEUE;
        let next = self.limit * (1.0 - SMOOTHING) + wanted * SMOOTHING;
        self.limit = next.clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn fed(took: Duration, inflight: usize, times: usize) -> Gradient2 {
        let mut limit = Gradient2::default();
        for _ in 0..times {
            limit.sample(Time::ZERO, took, inflight);
        }
        limit
    }

    #[test]
    fn steady_response_times_raise_a_used_limit_by_a_fifth_of_the_queue() {
        assert!((fed(10 * MS, 20, 1).limit() - 20.8).abs() < 1e-9);
    }

    #[test]
    fn a_limit_that_is_not_used_stays() {
        assert_eq!(fed(10 * MS, 9, 100).limit(), 20.0);
    }

    #[test]
    fn a_longer_response_time_lowers_it_by_at_most_a_tenth_less_the_queue() {
        let mut limit = fed(10 * MS, 200, 100);
        let before = limit.limit();
        limit.sample(Time::ZERO, 1000 * MS, 200);
        let expected = before * 0.8 + 0.2 * (before * 0.5 + 4.0);
        assert!((limit.limit() - expected).abs() < 1e-9, "{}", limit.limit());
    }
}
