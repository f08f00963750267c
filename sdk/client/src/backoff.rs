//! How long to wait before trying again: full jitter, so that a thousand clients
//! that lost the same server do not come back in step.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);
/// So many tries in a row come quickly while there is a lease to save.
const QUICK: u32 = 2;
/// 50 ms doubled this often is past the longest.
const DOUBLINGS: u32 = 6;

/// Counts failures in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// A random wait, at most 50 ms after the first failure, twice that after each
    /// further one, at most 2 s.
    pub(crate) fn next(&mut self) -> Duration {
        self.next_within(LONGEST)
    }

    /// The same, at most `longest`.
    pub(crate) fn next_within(&mut self, longest: Duration) -> Duration {
        let wait = self.ceiling().min(longest).mul_f64(rand::random_range(0.0..=1.0));
        self.failures = self.failures.saturating_add(1);
        wait
    }

    /// The first two are as ever, for they lead to another server; then half of
    /// `pace` to one and a half: tries come no faster than calls do when all is well.
    pub(crate) fn next_at_pace(&mut self, pace: Duration) -> Duration {
        if self.failures < QUICK {
            return self.next();
        }
        self.failures = self.failures.saturating_add(1);
        pace.min(LONGEST).mul_f64(rand::random_range(0.5..=1.5))
    }

    fn ceiling(self) -> Duration {
        FIRST.saturating_mul(1 << self.failures.min(DOUBLINGS)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_50_ms_to_2_s() {
        let mut backoff = Backoff::default();
        let mut ceilings = Vec::new();
        for _ in 0..8 {
            let ceiling = backoff.ceiling();
            assert!(backoff.next() <= ceiling);
            ceilings.push(ceiling.as_millis());
        }
        assert_eq!(ceilings, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
        backoff.reset();
        assert_eq!(backoff.ceiling(), FIRST);
    }

    #[test]
    fn in_a_hurry_two_tries_are_quick_and_the_rest_at_the_steady_pace() {
        let (mut backoff, pace) = (Backoff::default(), Duration::from_millis(500));
        let waits: Vec<_> = (0..100).map(|_| backoff.next_at_pace(pace)).collect();
        assert!(waits[0] <= FIRST && waits[1] <= 2 * FIRST, "{waits:?}");
        let steady = pace / 2..=pace * 3 / 2;
        assert!(waits[2..].iter().all(|wait| steady.contains(wait)), "{waits:?}");
    }
}
