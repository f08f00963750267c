//! Where a request goes, as far as the request itself tells.

use http::{Extensions, HeaderMap, Method, Request, header};

/// Where a request goes, before it is known which endpoint that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address<'a> {
    /// `None`: gRPC, or a method that HTTP does not define and anybody may invent.
    pub(super) method: Option<&'a Method>,
    pub(super) path: Path<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'a> {
    /// What the application's router matched.
    Route(&'a str),
    Grpc(&'a str),
    Raw(&'a str),
}

impl<'a> Address<'a> {
    pub(super) fn of<B>(request: &'a Request<B>) -> Self {
        let path = request.uri().path();
        if is_grpc(request.headers()) {
            return Self { method: None, path: Path::Grpc(path) };
        }
        let method = Some(request.method()).filter(|method| is_standard(method));
        let route = route(request.extensions());
        Self { method, path: route.map_or(Path::Raw(path), Path::Route) }
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

pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn is_standard(method: &Method) -> bool {
    const STANDARD: [Method; 9] = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
        Method::CONNECT,
        Method::PATCH,
        Method::TRACE,
    ];
    STANDARD.contains(method)
}

/// The endpoint's name in the policy and in metrics.
pub(super) fn name(method: Option<&Method>, path: &str) -> String {
    method.map_or_else(|| path.to_owned(), |method| format!("{method} {path}"))
}
