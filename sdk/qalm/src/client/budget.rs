//! How much may be repeated: a part of what is called, so that repetitions never
//! are what overloads the callee.
//!
//! Calls earn tokens, a repetition costs one. Where calls are so rare that a part
//! of them is nothing, time earns instead: from one repetition to the next counts
//! what gives more.

use tokio::time::Instant;

/// The most that is saved for later, in repetitions.
const SAVED: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Budget {
    /// Repetitions for a call.
    ratio: f64,
    /// Repetitions a second, for those who call rarely.
    floor: f64,
    tokens: f64,
    /// Calls since then.
    calls: u64,
    since: Instant,
}

impl Budget {
    pub(super) fn new(ratio: f64, floor: f64, now: Instant) -> Self {
        Self { ratio, floor, tokens: 0.0, calls: 0, since: now }
    }

    /// A call is made, for the first time.
    pub(super) fn call(&mut self) {
        self.calls += 1;
    }

    /// Whether one may be repeated now; counts it if so.
    pub(super) fn withdraw(&mut self, now: Instant) -> bool {
        if self.ratio <= 0.0 {
            return false;
        }
        let by_time = self.floor * now.saturating_duration_since(self.since).as_secs_f64();
        let earned = (self.ratio * self.calls as f64).max(by_time);
        if self.tokens + earned < 1.0 {
            return false;
        }
        self.tokens = (self.tokens + earned).min(SAVED) - 1.0;
        (self.calls, self.since) = (0, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tenth_of_the_calls_may_be_repeated() {
        let now = Instant::now();
        let mut budget = Budget::new(0.1, 0.0, now);
        let allowed: u32 = (0..1_000)
            .map(|_| {
                budget.call();
                (0..3).map(|_| u32::from(budget.withdraw(now))).sum::<u32>()
            })
            .sum();
        assert!((95..=100).contains(&allowed), "{allowed}");
    }

    #[test]
    fn who_calls_rarely_may_repeat_now_and_then() {
        let start = Instant::now();
        let mut budget = Budget::new(0.1, 1.0, start);
        budget.call();
        assert!(!budget.withdraw(start));
        assert!(budget.withdraw(start + Duration::from_secs(1)));
        assert!(!budget.withdraw(start + Duration::from_millis(1_900)));
        assert!(budget.withdraw(start + Duration::from_secs(2)));
    }

    #[test]
    fn long_success_saves_no_more_than_a_burst() {
        let start = Instant::now();
        let mut budget = Budget::new(0.1, 1.0, start);
        (0..100_000).for_each(|_| budget.call());
        let later = start + Duration::from_secs(3_600);
        assert_eq!((0..100).filter(|_| budget.withdraw(later)).count(), SAVED as usize);
    }

    #[test]
    fn no_ratio_repeats_nothing() {
        let start = Instant::now();
        let mut budget = Budget::new(0.0, 1.0, start);
        assert!(!budget.withdraw(start + Duration::from_secs(60)));
    }

    proptest! {
        #[test]
        fn repetitions_keep_within_the_ratio_or_the_floor(
            steps in proptest::collection::vec((0_u64..200, 0_u64..4), 1..400),
        ) {
            let start = Instant::now();
            let mut budget = Budget::new(0.1, 1.0, start);
            let (mut now, mut calls, mut retries) = (start, 0_u64, 0_u64);
            for (millis, tries) in steps {
                now += Duration::from_millis(millis);
                budget.call();
                calls += 1;
                retries += (0..tries).filter(|_| budget.withdraw(now)).count() as u64;
            }
            let most = 0.1 * calls as f64 + (now - start).as_secs_f64();
            prop_assert!(retries as f64 <= most + 1e-9, "{retries} of at most {most}");
        }
    }
}
