//! `WindowedLimit`: one sample a second at most, the mean of the window's, once
//! there are ten.

use std::time::Duration;

use plimsoll_shedding::Time;

use super::Limit;

const WINDOW: Duration = Duration::from_secs(1);
const LEAST_SAMPLES: u32 = 10;
/// Shorter ones are thought to be errors.
const LEAST_TIME: Duration = Duration::from_micros(100);

/// A limit that sees the mean of a window instead of every sample.
#[derive(Debug)]
pub struct Windowed<L> {
    inner: L,
    ends: Time,
    samples: u32,
    total: Duration,
    inflight: usize,
}

impl<L: Limit> Windowed<L> {
    pub fn new(inner: L) -> Self {
        Self { inner, ends: Time::ZERO, samples: 0, total: Duration::ZERO, inflight: 0 }
    }
}

impl<L: Limit> Limit for Windowed<L> {
    fn limit(&self) -> f64 {
        self.inner.limit()
    }

    fn sample(&mut self, now: Time, took: Duration, inflight: usize) {
        if took < LEAST_TIME {
            return;
        }
        self.samples += 1;
        self.total += took;
        self.inflight = self.inflight.max(inflight);
        if now > self.ends && self.samples > LEAST_SAMPLES {
            self.inner.sample(now, self.total / self.samples, self.inflight);
            (self.ends, self.samples) = (now + WINDOW, 0);
            (self.total, self.inflight) = (Duration::ZERO, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Seen(Vec<(Duration, usize)>);

    impl Limit for Seen {
        fn limit(&self) -> f64 {
            1.0
        }

        fn sample(&mut self, _now: Time, took: Duration, inflight: usize) {
            self.0.push((took, inflight));
        }
    }

    #[test]
    fn a_window_of_a_second_counts_as_its_mean_and_its_most_in_flight() {
        let mut limit = Windowed::new(Seen::default());
        for at in 1..=2020_u64 {
            let took = Duration::from_millis(if at % 2 == 0 { 10 } else { 30 });
            limit.sample(Time::from_millis(at), took, (at % 7) as usize);
        }
        assert_eq!(limit.inner.0.len(), 3);
        assert_eq!(limit.inner.0[1].1, 6);
        let mean = limit.inner.0[1].0.as_secs_f64();
        assert!((mean - 0.02).abs() < 0.001, "{mean}");
    }
}
