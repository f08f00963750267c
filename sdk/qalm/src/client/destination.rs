//! Which callee a call is for: an endpoint of an authority, as a number.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use http::{HeaderMap, Method, Uri};

use super::stamp::is_grpc;

/// What is needed to number a callee later: cheap to keep.
#[derive(Debug)]
pub(super) struct Destination {
    method: Method,
    uri: Uri,
    is_grpc: bool,
}

impl Destination {
    pub(super) fn of(method: Method, uri: Uri, headers: &HeaderMap) -> Self {
        Self { method, uri, is_grpc: is_grpc(headers) }
    }

    /// The callee's number. Paths that differ only in identifiers are one callee.
    pub(super) fn number(&self, random: &RandomState) -> u64 {
        let mut hasher = random.build_hasher();
        self.uri.authority().map(|it| it.as_str()).hash(&mut hasher);
        if self.is_grpc {
            self.uri.path().hash(&mut hasher);
        } else {
            self.method.hash(&mut hasher);
            for segment in self.uri.path().split('/') {
                masked(segment).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Segments that hold more digits than a version does are identifiers.
fn masked(segment: &str) -> &str {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    if digits > 2 || digits > 0 && digits == segment.len() { "*" } else { segment }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_no_callees() {
        let random = RandomState::new();
        let number = |method: Method, uri: &'static str, grpc: bool| {
            Destination { method, uri: Uri::from_static(uri), is_grpc: grpc }.number(&random)
        };
        let get = |uri| number(Method::GET, uri, false);
        assert_eq!(get("http://a/v1/users/7"), get("http://a/v1/users/42?x=1"));
        assert_eq!(get("http://a/o/3f2504e0-4f89"), get("http://a/o/9c0b7711-aaaa"));
        assert_ne!(get("http://a/v1/users/7"), get("http://b/v1/users/7"));
        assert_ne!(get("http://a/v1/users"), get("http://a/v2/users"));
        assert_ne!(get("http://a/v1/users"), number(Method::PUT, "http://a/v1/users", false));
        let grpc = |uri| number(Method::POST, uri, true);
        assert_ne!(grpc("http://a/x.V100/A"), grpc("http://a/x.V200/A"));
    }
}
