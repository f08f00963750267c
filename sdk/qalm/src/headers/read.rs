//! What a caller says of its request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderName};
use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;
use plimsoll_shedding::policy::Trust;

use super::{COHORT, CRITICALITY, DEADLINE_MS, names, timeout};

/// Longer than anybody waits, in milliseconds: 24 days.
const MAX_DEADLINE_MS: u64 = 1 << 31;

/// What a caller says of its request, as far as it is believed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Incoming {
    pub criticality: Option<Criticality>,
    pub cohort: Option<Cohort>,
    /// How long it waits from its arrival on.
    pub patience: Option<Duration>,
}

/// How many values could not be used, by header.
#[derive(Debug, Default)]
pub struct BadHeaders {
    criticality: AtomicU64,
    cohort: AtomicU64,
    deadline: AtomicU64,
}

impl BadHeaders {
    /// Names of the headers, and how many of their values could not be used.
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        [
            (CRITICALITY, self.criticality.load(Ordering::Relaxed)),
            (COHORT, self.cohort.load(Ordering::Relaxed)),
            (DEADLINE_MS, self.deadline.load(Ordering::Relaxed)),
        ]
    }
}

impl Incoming {
    /// Reads the headers of a request. `grpc-timeout` is believed always: it ends
    /// the call whatever we think of it.
    pub fn read(headers: &HeaderMap, trust: Trust, bad: &BadHeaders) -> Self {
        let ours = trust
            .deadline
            .then(|| one(headers, &names::DEADLINE_MS, millis, &bad.deadline))
            .flatten();
        let grpc = one(headers, &names::GRPC_TIMEOUT, timeout::parse, &bad.deadline);
        let criticality = || one(headers, &names::CRITICALITY, level, &bad.criticality);
        let cohort_number = || one(headers, &names::COHORT, cohort, &bad.cohort);
        Self {
            criticality: trust.criticality.then(criticality).flatten(),
            cohort: trust.cohort.then(cohort_number).flatten(),
            patience: [ours, grpc].into_iter().flatten().min(),
        }
    }

    /// The level of the request where the policy allows `allowed`: its caller may
    /// have lowered it.
    pub fn level(&self, allowed: Criticality) -> Criticality {
        self.criticality.map_or(allowed, |asked| asked.capped_by(allowed))
    }
}

/// The value of a header that is given once and can be read.
fn one<T>(
    headers: &HeaderMap,
    name: &HeaderName,
    read: impl Fn(&str) -> Option<T>,
    bad: &AtomicU64,
) -> Option<T> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    let only = values.next().is_none();
    let value = first.to_str().ok().filter(|_| only).and_then(read);
    if value.is_none() {
        bad.fetch_add(1, Ordering::Relaxed);
    }
    value
}

fn level(text: &str) -> Option<Criticality> {
    digits(text, 1).and_then(|it| u8::try_from(it).ok()).and_then(Criticality::from_level)
}

fn cohort(text: &str) -> Option<Cohort> {
    digits(text, 3).and_then(|it| u8::try_from(it).ok()).and_then(Cohort::from_number)
}

fn millis(text: &str) -> Option<Duration> {
    digits(text, 10).filter(|&it| it <= MAX_DEADLINE_MS).map(Duration::from_millis)
}

/// A number in plain digits: Rust would take a plus sign too.
fn digits(text: &str, most: usize) -> Option<u64> {
    let plain = text.len() <= most && text.bytes().all(|c| c.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::GRPC_TIMEOUT;
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn read(pairs: &[(&'static str, &str)]) -> (Incoming, u64) {
        let bad = BadHeaders::default();
        let incoming = Incoming::read(&headers(pairs), Trust::default(), &bad);
        (incoming, bad.counts().into_iter().map(|(_, count)| count).sum())
    }

    #[test]
    fn what_is_said_is_read() {
        let said = [(CRITICALITY, "4"), (COHORT, "127"), (DEADLINE_MS, "250")];
        let (incoming, bad) = read(&said);
        assert_eq!(incoming.criticality, Some(Criticality::Internal));
        assert_eq!(incoming.cohort.map(Cohort::number), Some(127));
        assert_eq!((incoming.patience, bad), (Some(Duration::from_millis(250)), 0));
        assert_eq!(read(&[]), (Incoming::default(), 0));
    }

    #[test]
    fn the_shorter_of_two_deadlines_counts() {
        let (incoming, _) = read(&[(DEADLINE_MS, "250"), (GRPC_TIMEOUT, "100m")]);
        assert_eq!(incoming.patience, Some(Duration::from_millis(100)));
    }

    #[test]
    fn what_cannot_be_read_is_ignored_and_counted() {
        for pair in [
            (CRITICALITY, "0"),
            (CRITICALITY, "5"),
            (CRITICALITY, "+1"),
            (CRITICALITY, " 1x"),
            (CRITICALITY, ""),
            (CRITICALITY, "01"),
            (COHORT, "128"),
            (COHORT, "-1"),
            (DEADLINE_MS, "1s"),
            (DEADLINE_MS, "99999999999"),
            (GRPC_TIMEOUT, "1"),
        ] {
            assert_eq!(read(&[pair]), (Incoming::default(), 1), "{pair:?}");
        }
        assert_eq!(read(&[(CRITICALITY, "1"), (CRITICALITY, "1")]), (Incoming::default(), 1));
    }

    #[test]
    fn beyond_the_boundary_nothing_is_believed() {
        let all = headers(&[(CRITICALITY, "x"), (COHORT, "1"), (DEADLINE_MS, "1")]);
        let trust = Trust { criticality: false, cohort: false, deadline: false };
        let bad = BadHeaders::default();
        assert_eq!(Incoming::read(&all, trust, &bad), Incoming::default());
        assert!(bad.counts().iter().all(|(_, count)| *count == 0));
    }

    proptest! {
        #[test]
        fn a_caller_lowers_its_level_and_never_raises_it(asked in 1_u8..=4, allowed in 1_u8..=4) {
            let level = |it| Criticality::from_level(it).unwrap();
            let incoming = Incoming { criticality: Some(level(asked)), ..Incoming::default() };
            prop_assert_eq!(incoming.level(level(allowed)).level(), asked.max(allowed));
        }

        #[test]
        fn no_value_breaks_anything(value in proptest::collection::vec(any::<u8>(), 0..20)) {
            let Ok(value) = http::HeaderValue::from_bytes(&value) else { return Ok(()) };
            for name in [CRITICALITY, COHORT, DEADLINE_MS, GRPC_TIMEOUT] {
                let mut headers = HeaderMap::new();
                headers.insert(name, value.clone());
                let bad = BadHeaders::default();
                let incoming = Incoming::read(&headers, Trust::default(), &bad);
                let counted: u64 = bad.counts().into_iter().map(|(_, count)| count).sum();
                prop_assert_eq!(incoming == Incoming::default(), counted == 1);
            }
        }
    }
}
