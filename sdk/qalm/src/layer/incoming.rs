//! What a request says of itself: who calls, how much it matters, how long its
//! caller waits.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Extensions, Request};
use plimsoll_shedding::criticality::Cohort;

use super::directory::NameSource;

/// The caller's name, from the first source that has one.
pub(super) fn caller<'a, B>(request: &'a Request<B>, from: &[NameSource]) -> Option<Cow<'a, str>> {
    from.iter().find_map(|source| match source {
        NameSource::Header(name) => header(request.headers().get(name)?),
        NameSource::Certificate => certificate(request.extensions()),
    })
}

fn header(value: &http::HeaderValue) -> Option<Cow<'_, str>> {
    let name = value.to_str().ok()?.trim();
    (!name.is_empty()).then_some(Cow::Borrowed(name))
}

#[cfg(feature = "grpc")]
fn certificate(extensions: &Extensions) -> Option<Cow<'_, str>> {
    crate::certificate::caller(extensions).map(Cow::Owned)
}

#[cfg(not(feature = "grpc"))]
fn certificate(_: &Extensions) -> Option<Cow<'_, str>> {
    None
}

/// Cohorts for requests that say nothing of their users: one after the other, so
/// that a part of them is a part of every second.
#[derive(Debug, Default)]
pub(super) struct Cohorts {
    next: AtomicU64,
}

impl Cohorts {
    pub(super) fn next(&self) -> Cohort {
        Cohort::from_hash(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&'static str, &str)]) -> Option<String> {
        let mut request = Request::new(());
        for (name, value) in pairs {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        let header = |name: &'static str| NameSource::Header(http::HeaderName::from_static(name));
        let from = [header("rpc-caller"), header("x-caller"), NameSource::Certificate];
        caller(&request, &from).map(Cow::into_owned)
    }

    #[test]
    fn the_first_source_that_has_a_name_gives_it() {
        assert_eq!(named(&[("x-caller", "a"), ("rpc-caller", "b")]).as_deref(), Some("b"));
        assert_eq!(named(&[("x-caller", "a"), ("rpc-caller", " ")]).as_deref(), Some("a"));
        assert_eq!(named(&[("x-caller", "ä")]), None);
        assert_eq!(named(&[]), None);
    }

    #[test]
    fn cohorts_take_turns() {
        let cohorts = Cohorts::default();
        let seen: std::collections::HashSet<u8> =
            (0..128).map(|_| cohorts.next().number()).collect();
        assert_eq!(seen.len(), 128);
    }
}
