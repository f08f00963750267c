//! BBR as in Kratos' aegis (after Alibaba's Sentinel): the work in flight may not
//! exceed the best throughput seen times the least response time seen.
//!
//! The original looks only while the CPU is above 80 %, or within a second of the
//! last drop. A service that waits for others never gets there, and would be
//! unprotected; here the CPU counts as busy always, to its advantage. It knows no
//! priorities. go-zero's shedder has the same bound.

use std::time::Duration;

use plimsoll_shedding::Time;

use crate::asked::Asked;
use crate::machine::{Algorithm, Load};

const BUCKETS: usize = 100;
const BUCKET: Duration = Duration::from_millis(100);

/// What ended in one tenth of a second.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    number: u64,
    passed: u64,
    total: Duration,
}

/// The bound and its window of ten seconds.
#[derive(Debug)]
pub struct Bbr([Bucket; BUCKETS]);

impl Default for Bbr {
    fn default() -> Self {
        Self([Bucket::default(); BUCKETS])
    }
}

impl Bbr {
    /// `floor(maxPass * minRT * bucketsPerSecond / 1000 + 0.5)`, over the buckets
    /// of the window that are complete; no bound before there is one.
    fn bound(&self, now: Time) -> usize {
        let current = number(now);
        let complete = |it: &&Bucket| it.passed > 0 && it.number < current;
        let recent = |it: &&Bucket| it.number + BUCKETS as u64 > current;
        let window = self.0.iter().filter(complete).filter(recent);
        let most = window.clone().map(|it| it.passed).max();
        let least = window.map(|it| (it.total.as_secs_f64() * 1e3 / it.passed as f64).ceil());
        match most {
            None => usize::MAX,
            Some(most) => {
                let per_second = 1.0 / BUCKET.as_secs_f64();
                let least = least.fold(f64::INFINITY, f64::min);
                (most as f64 * least * per_second / 1e3 + 0.5).floor() as usize
            }
        }
    }
}

fn number(now: Time) -> u64 {
    // From 1: an unused bucket has the number 0.
    now.as_nanos() / BUCKET.as_nanos() as u64 + 1
}

impl Algorithm for Bbr {
    fn slots(&self) -> usize {
        usize::MAX
    }

    fn arrive(&mut self, now: Time, _asked: &Asked, load: Load) -> bool {
        load.inflight <= 1 || load.inflight <= self.bound(now)
    }

    fn complete(&mut self, now: Time, _asked: &Asked, handling: Duration, _load: Load) {
        let number = number(now);
        let bucket = &mut self.0[(number % BUCKETS as u64) as usize];
        if bucket.number != number {
            *bucket = Bucket { number, ..Bucket::default() };
        }
        bucket.passed += 1;
        bucket.total += handling;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::of;

    /// 100 a second that took 20 ms each, for a second.
    fn warmed() -> Bbr {
        let mut bbr = Bbr::default();
        for at in 0..100 {
            let took = Duration::from_millis(20);
            bbr.complete(Time::from_millis(at * 10), &of(4), took, Load::default());
        }
        bbr
    }

    #[test]
    fn the_bound_is_throughput_times_least_response_time() {
        assert_eq!(warmed().bound(Time::from_millis(1000)), 2);
    }

    #[test]
    fn one_more_than_the_bound_is_refused() {
        let (mut bbr, now) = (warmed(), Time::from_millis(1000));
        let with = |inflight| Load { inflight, waiting: 0 };
        assert!(bbr.arrive(now, &of(1), with(2)));
        assert!(!bbr.arrive(now, &of(1), with(3)));
    }

    #[test]
    fn a_window_that_is_over_bounds_nothing() {
        assert_eq!(warmed().bound(Time::from_millis(20_000)), usize::MAX);
        assert_eq!(Bbr::default().bound(Time::from_millis(5)), usize::MAX);
    }
}
