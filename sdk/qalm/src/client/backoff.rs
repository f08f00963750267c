//! How long to wait before a refused call is made again.

use std::time::Duration;

use crate::headers::{Refused, RetryAdvice};

/// The first wait where the callee says nothing; it doubles with every attempt.
const FIRST: Duration = Duration::from_millis(50);
/// The longest wait where the callee says nothing.
const LONGEST: Duration = Duration::from_secs(1);
/// What is added to the callee's wish at most, as a part of it.
const SPREAD: f64 = 0.25;

/// The wait before the repetition number `attempt`, from 0; `None`: it must not
/// be made. `jitter` is 0 to 1.
pub(super) fn wait(refused: &Refused, attempt: u32, jitter: f64) -> Option<Duration> {
    if refused.is_expired {
        return None;
    }
    match refused.retry {
        RetryAdvice::Never => None,
        RetryAdvice::After(wish) => Some(wish.saturating_add(wish.mul_f64(SPREAD * jitter))),
        RetryAdvice::Unsaid => {
            let longest = FIRST.saturating_mul(1 << attempt.min(16)).min(LONGEST);
            // From half of it, so that no attempt follows at once.
            Some(longest.mul_f64(0.5 + 0.5 * jitter))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(retry: RetryAdvice) -> Refused {
        Refused { is_expired: false, admitted: None, retry }
    }

    #[test]
    fn the_callees_wish_is_a_lower_bound() {
        let wish = Duration::from_millis(400);
        let wait = |jitter| wait(&refused(RetryAdvice::After(wish)), 5, jitter).unwrap();
        assert_eq!((wait(0.0), wait(1.0)), (wish, Duration::from_millis(500)));
    }

    #[test]
    fn no_wish_is_too_long_to_reckon_with() {
        let forever = refused(RetryAdvice::After(Duration::MAX));
        assert_eq!(wait(&forever, 0, 1.0), Some(Duration::MAX));
    }

    #[test]
    fn without_a_wish_it_doubles_up_to_a_second() {
        let wait = |attempt, jitter| wait(&refused(RetryAdvice::Unsaid), attempt, jitter).unwrap();
        assert_eq!(
            [wait(0, 1.0), wait(1, 1.0), wait(99, 1.0)].map(|it| it.as_millis()),
            [50, 100, 1_000]
        );
        assert_eq!(wait(0, 0.0).as_millis(), 25);
    }

    #[test]
    fn what_must_not_be_repeated_is_not() {
        assert_eq!(wait(&refused(RetryAdvice::Never), 0, 0.5), None);
        let expired = Refused { is_expired: true, ..refused(RetryAdvice::Unsaid) };
        assert_eq!(wait(&expired, 0, 0.5), None);
    }
}
