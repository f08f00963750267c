//! What an answer says of a refusal.

use std::time::Duration;

use http::HeaderMap;
use plimsoll_shedding::Criticality;

use super::{GRPC_RETRY_PUSHBACK_MS, RETRY_AFTER, RETRY_AFTER_MS, SHED_LEVEL, SHED_REASON};

/// No wait is longer, whatever is said: nobody tries again after 24 days.
const LONGEST: Duration = Duration::from_secs(24 * 24 * 3600);

/// The reason that is no shedding: nobody waits for the answer any more.
const EXPIRED: &str = "expired";

/// A refusal as its caller sees it: the request never reached its handler.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// Its time was over; to repeat it is of no use.
    pub is_expired: bool,
    /// The least critical level that is being admitted now.
    pub admitted: Option<Criticality>,
    pub retry: RetryAdvice,
}

/// What a refusal says of coming again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RetryAdvice {
    /// Not before that time.
    After(Duration),
    /// Nothing is said.
    Unsaid,
    /// Not at all.
    Never,
}

impl Refused {
    /// What the answer's headers say; `None`: it was not refused by us. A 503
    /// alone says nothing about whether a handler has run.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let reason = headers.get(SHED_REASON)?;
        Some(Self {
            is_expired: reason == EXPIRED,
            admitted: text(headers, SHED_LEVEL).and_then(level),
            retry: retry(headers),
        })
    }
}

fn retry(headers: &HeaderMap) -> RetryAdvice {
    if headers.contains_key(GRPC_RETRY_PUSHBACK_MS) {
        let wait = wait(headers, GRPC_RETRY_PUSHBACK_MS, Duration::from_millis);
        return wait.map_or(RetryAdvice::Never, RetryAdvice::After);
    }
    let exact = wait(headers, RETRY_AFTER_MS, Duration::from_millis);
    let whole = || wait(headers, RETRY_AFTER, Duration::from_secs);
    exact.or_else(whole).map_or(RetryAdvice::Unsaid, RetryAdvice::After)
}

/// A number in plain digits, at most [`LONGEST`]; Rust would take a plus sign too.
fn wait(headers: &HeaderMap, name: &str, of: fn(u64) -> Duration) -> Option<Duration> {
    let text = text(headers, name)?;
    let is_number = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    // Digits that fit no integer ask for a long wait too.
    is_number.then(|| of(text.parse().unwrap_or(u64::MAX)).min(LONGEST))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn level(text: &str) -> Option<Criticality> {
    text.parse().ok().and_then(Criticality::from_level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Option<Refused> {
        let headers = pairs.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
        });
        Refused::read(&headers.collect())
    }

    #[test]
    fn a_refusal_is_known_by_its_reason_alone() {
        assert_eq!(read(&[(RETRY_AFTER, "1"), (SHED_LEVEL, "2")]), None);
        let refused = read(&[(SHED_REASON, "overload"), (SHED_LEVEL, "2")]).unwrap();
        assert_eq!((refused.admitted, refused.is_expired), (Some(Criticality::CoreFlow), false));
        assert!(read(&[(SHED_REASON, "expired")]).unwrap().is_expired);
    }

    #[test]
    fn the_finest_wait_counts_and_pushback_may_forbid() {
        let retry = |pairs: &[(&'static str, &'static str)]| {
            let all: Vec<_> = pairs.iter().copied().chain([(SHED_REASON, "overload")]).collect();
            read(&all).unwrap().retry
        };
        assert_eq!(retry(&[]), RetryAdvice::Unsaid);
        assert_eq!(retry(&[(RETRY_AFTER, "2")]), RetryAdvice::After(Duration::from_secs(2)));
        let both = [(RETRY_AFTER, "1"), (RETRY_AFTER_MS, "40")];
        assert_eq!(retry(&both), RetryAdvice::After(Duration::from_millis(40)));
        let pushed = [(GRPC_RETRY_PUSHBACK_MS, "7"), (RETRY_AFTER_MS, "40")];
        assert_eq!(retry(&pushed), RetryAdvice::After(Duration::from_millis(7)));
        assert_eq!(retry(&[(GRPC_RETRY_PUSHBACK_MS, "-1")]), RetryAdvice::Never);
        assert_eq!(retry(&[(GRPC_RETRY_PUSHBACK_MS, "soon")]), RetryAdvice::Never);
        assert_eq!(retry(&[(RETRY_AFTER, "Wed, 21 Oct 2026 07:28:00 GMT")]), RetryAdvice::Unsaid);
    }

    #[test]
    fn no_wait_is_longer_than_anybody_waits() {
        for (name, value) in [
            (RETRY_AFTER, "18446744073709551615"),
            (RETRY_AFTER, "99999999999999999999999999"),
            (RETRY_AFTER_MS, "9000000000000000000"),
            (GRPC_RETRY_PUSHBACK_MS, "99999999999"),
        ] {
            let refused = read(&[(SHED_REASON, "overload"), (name, value)]).unwrap();
            assert_eq!(refused.retry, RetryAdvice::After(LONGEST), "{name}: {value}");
        }
        for value in ["+5", "-5", "", "5 s"] {
            let refused = read(&[(SHED_REASON, "overload"), (RETRY_AFTER, value)]).unwrap();
            assert_eq!(refused.retry, RetryAdvice::Unsaid, "{value:?}");
        }
    }
}
