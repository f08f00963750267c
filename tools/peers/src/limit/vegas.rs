//! `VegasLimit`: the queue that the response time betrays, held between 3 and 6
//! times the logarithm of the limit.

use std::time::Duration;

use plimsoll_shedding::Time;

use super::Limit;

const FIRST: f64 = 20.0;
const MOST: f64 = 1000.0;
/// The least response time is measured anew after so many samples for each place
/// of the limit: the mean of the original's random factor of 15 to 30.
const PROBE_EVERY: f64 = 22.5;

/// Netflix' Vegas with its defaults, one step a sample.
#[derive(Debug)]
pub struct Vegas {
    limit: f64,
    unloaded: f64,
    samples: f64,
}

impl Default for Vegas {
    fn default() -> Self {
        Self { limit: FIRST, unloaded: f64::INFINITY, samples: 0.0 }
    }
}

impl Limit for Vegas {
    fn limit(&self) -> f64 {
        self.limit
    }

    fn sample(&mut self, _now: Time, took: Duration, inflight: usize) {
        let took = took.as_secs_f64().max(1e-9);
        self.samples += 1.0;
        let probe = self.samples > PROBE_EVERY * self.limit;
        if probe {
            self.samples = 0.0;
        }
        if probe || took < self.unloaded {
            self.unloaded = took;
            return;
        }
        if inflight as f64 * 2.0 >= self.limit {
            self.limit = self.stepped(took).clamp(1.0, MOST);
        }
    }
}

impl Vegas {
    fn stepped(&self, took: f64) -> f64 {
        let step = self.limit.log10().floor().max(1.0);
        let queue = (self.limit * (1.0 - self.unloaded / took)).ceil();
        if queue <= step {
            self.limit + 6.0 * step
        } else if queue < 3.0 * step {
            self.limit + step
        } else if queue > 6.0 * step {
            self.limit - step
        } else {
            self.limit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After an unloaded response time of 10 ms.
    fn after(took_micros: u64, inflight: usize) -> f64 {
        let mut limit = Vegas::default();
        limit.sample(Time::ZERO, Duration::from_millis(10), inflight);
        limit.sample(Time::ZERO, Duration::from_micros(took_micros), inflight);
        limit.limit()
    }

    #[test]
    fn the_step_follows_from_the_queue_that_the_response_time_betrays() {
        // Queues of 1, 2, 4 and 10 at a limit of 20.
        assert_eq!(after(10_100, 20), 26.0);
        assert_eq!(after(10_900, 20), 21.0);
        assert_eq!(after(12_200, 20), 20.0);
        assert_eq!(after(20_000, 20), 19.0);
    }

    #[test]
    fn a_limit_that_is_not_half_used_stays() {
        assert_eq!(after(10_100, 9), 20.0);
    }

    #[test]
    fn sample_by_sample_varying_times_make_it_collapse() {
        let mut limit = Vegas::default();
        for n in 0..400 {
            limit.sample(Time::ZERO, Duration::from_millis(1 + n % 20), 20);
        }
        assert!(limit.limit() < 10.0, "{}", limit.limit());
    }
}
