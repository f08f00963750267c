//! Where a request goes, as far as the request itself tells.

use std::borrow::Cow;

use http::{Extensions, HeaderMap, Method, Request, Version, header};

use super::path::normal;

/// Where a request goes, before it is known which endpoint that is.
#[derive(Clone, Debug)]
pub(super) struct Address<'a> {
    /// `None`: gRPC, or a method that HTTP does not define and anybody may invent.
    pub(super) method: Option<&'a Method>,
    pub(super) path: Path<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum Path<'a> {
    /// What the application's router matched.
    Route(&'a str),
    /// In its normal form, and so is the next: a path means the same however it is
    /// spelled.
    Grpc(Cow<'a, str>),
    Raw(Cow<'a, str>),
}

impl<'a> Address<'a> {
    pub(super) fn of<B>(request: &'a Request<B>) -> Self {
        let method = Some(request.method()).filter(|method| is_standard(method));
        let route = route(request.extensions());
        let path = normal(request.uri().path());
        if is_grpc(request, &path) && route.is_none_or(|route| route.contains("{*")) {
            return Self { method: None, path: Path::Grpc(path) };
        }
        Self { method, path: route.map_or(Path::Raw(path), Path::Route) }
    }

    pub(super) fn is_grpc(&self) -> bool {
        matches!(self.path, Path::Grpc(_))
    }
}

#[cfg(feature = "axum")]
fn route(extensions: &Extensions) -> Option<&str> {
    extensions.get::<axum::extract::MatchedPath>().map(axum::extract::MatchedPath::as_str)
}

#[cfg(not(feature = "axum"))]
fn route(_: &Extensions) -> Option<&str> {
    None
}

/// A header alone makes no gRPC call: who sends it must not choose another endpoint
/// by it.
fn is_grpc<B>(request: &Request<B>, path: &str) -> bool {
    let called = request.method() == Method::POST && request.version() == Version::HTTP_2;
    called && names_a_method(path) && speaks_grpc(request.headers())
}

/// A service and its method.
fn names_a_method(path: &str) -> bool {
    let mut segments = path.split('/').skip(1);
    segments.next().is_some_and(|service| !service.is_empty())
        && segments.next().is_some_and(|method| !method.is_empty())
        && segments.next().is_none()
}

/// The content is that of gRPC, not of gRPC-Web.
pub(super) fn speaks_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    let rest = kind.and_then(|kind| kind.strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b' ')))
}

fn is_standard(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET
            | Method::POST
            | Method::PUT
            | Method::DELETE
            | Method::HEAD
            | Method::OPTIONS
            | Method::CONNECT
            | Method::PATCH
            | Method::TRACE
    )
}

/// The endpoint's name in the policy and in metrics.
pub(super) fn name(method: Option<&Method>, path: &str) -> String {
    method.map_or_else(|| path.to_owned(), |method| format!("{method} {path}"))
}
