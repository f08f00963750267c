//! Which endpoints are meant: a path with wildcards, and maybe a method.

use super::error::Problem;
use super::glob::{Glob, Narrowness};

/// The longest pattern or name, in bytes.
pub(super) const MAX_PATTERN: usize = 512;

/// Which endpoints are meant. `GET /v1/users/*` names a method; without one,
/// any method and gRPC are meant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct EndpointPattern {
    method: Option<Box<str>>,
    path: Glob,
    text: Box<str>,
}

impl EndpointPattern {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = |reason| Err(Problem::Endpoint { pattern: text.to_owned(), reason });
        if text.len() > MAX_PATTERN {
            return wrong("it is longer than 512 bytes");
        }
        let (method, path) = split(text);
        if method == Some("") {
            return wrong("nothing stands before its first space: remove the space");
        }
        if !path.starts_with(['/', '*']) || path.contains(char::is_whitespace) {
            return wrong(
                "write a path such as /orders.v1.Orders/* or /v1/users/*, maybe with a method \
                 before it: GET /v1/users/*",
            );
        }
        if method.is_some_and(|it| it != "*" && !it.bytes().all(|c| c.is_ascii_uppercase())) {
            return wrong("the method is written in capitals: GET");
        }
        let method = method.filter(|&it| it != "*").map(Into::into);
        Ok(Self { method, path: Glob::new(path), text: text.into() })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn narrowness(&self) -> (Narrowness, bool) {
        (self.path.narrowness(), self.method.is_some())
    }

    /// The method and the path that it stands for if it has no star.
    pub(super) fn exact(&self) -> Option<(Option<&str>, &str)> {
        self.path.exact().map(|path| (self.method.as_deref(), path))
    }

    /// Whether it says more than that there is an endpoint.
    pub(super) fn is_telling(&self) -> bool {
        !matches!(self.path.as_str(), "*" | "/*")
    }

    pub(super) fn matches(&self, endpoint: &str) -> bool {
        let (method, path) = split(endpoint);
        self.allows(method) && self.path.matches(path)
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.allows(other.method.as_deref()) && self.path.covers(&other.path)
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let methods = self.method.is_none() || other.allows(self.method.as_deref());
        methods && self.path.overlaps(&other.path)
    }

    fn allows(&self, method: Option<&str>) -> bool {
        self.method.is_none() || self.method.as_deref() == method
    }
}

/// The method, if there is one, and the path.
fn split(endpoint: &str) -> (Option<&str>, &str) {
    match endpoint.split_once(' ') {
        Some((method, path)) => (Some(method), path),
        None => (None, endpoint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> EndpointPattern {
        EndpointPattern::parse(text).unwrap()
    }

    #[test]
    fn without_a_method_any_is_meant() {
        assert!(pattern("/v1/users/*").matches("GET /v1/users/4"));
        assert!(pattern("/orders.v1.Orders/*").matches("/orders.v1.Orders/Get"));
        assert!(pattern("* /v1/*").matches("POST /v1/x"));
        assert!(pattern("*").matches("DELETE /") && pattern("*").matches("/a.B/C"));
    }

    #[test]
    fn with_a_method_no_other_is_meant() {
        assert!(!pattern("GET /v1/*").matches("POST /v1/x"));
        assert!(!pattern("GET /v1/*").matches("/v1/x"));
        assert!(!pattern("GET /v1/*").overlaps(&pattern("PUT /v1/*")));
        assert!(pattern("GET /v1/*").overlaps(&pattern("/*/x")));
        assert!(pattern("/v1/*").covers(&pattern("GET /v1/x")));
        assert!(!pattern("GET /v1/*").covers(&pattern("/v1/x")));
    }

    #[test]
    fn the_path_counts_before_the_method() {
        assert!(pattern("/abc*").narrowness() > pattern("GET /a*").narrowness());
        assert!(pattern("GET /a*").narrowness() > pattern("/a*").narrowness());
    }

    #[test]
    fn what_cannot_be_an_endpoint_is_refused() {
        for text in
            ["", "orders.v1.Orders/Get", "get /x", "GET  /x", "GET x", "/a b", "GET /a b", " /dead"]
        {
            assert!(EndpointPattern::parse(text).is_err(), "{text:?}");
        }
        assert!(EndpointPattern::parse(&"/".repeat(513)).is_err());
    }
}
