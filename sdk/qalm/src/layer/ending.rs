//! What an answer's head says about how long its place is still needed.

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, header};
use http_body::Body;
use plimsoll_shedding::verdict::Outcome;

use super::address::speaks_grpc;
use super::body::{Progress, QalmBody, grpc_failed};
use super::protection::Visit;
use crate::handling::Handling;
use crate::headers::names;

/// The handler's answer; `handling` is `None` once the place was given back. Its body goes on holding the place unless the head
/// already says how it ends.
pub(super) fn passed<R: Body<Data = Bytes>>(
    response: Response<R>,
    handling: Option<Handling>,
    visit: &Visit,
) -> Response<QalmBody<R>> {
    if proves(&response, visit.grpc) {
        visit.prove();
    }
    let rest = handling.and_then(|handling| match ending(&response, visit) {
        Some(outcome) => {
            handling.finish(outcome);
            None
        }
        None => Some((visit.answering(handling), Progress::new(expected(&response)))),
    });
    response.map(|body| QalmBody::passed(body, rest))
}

/// How the handler ended, if the head says that it did.
fn ending<R: Body>(response: &Response<R>, visit: &Visit) -> Option<Outcome> {
    let status = response.status();
    if status.is_server_error() || grpc_failed(response.headers()) {
        return Some(Outcome::Abandoned);
    }
    let tunnel = visit.method == Method::CONNECT && status.is_success() && !visit.grpc;
    if status == StatusCode::SWITCHING_PROTOCOLS || tunnel || is_event_stream(response.headers()) {
        return Some(Outcome::Streaming);
    }
    let bodiless = visit.method == Method::HEAD
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || response.body().is_end_stream();
    bodiless.then_some(Outcome::Answered)
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// The bytes of the body, if they are known.
fn expected<R: Body>(response: &Response<R>) -> Option<u64> {
    let declared = || response.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
    response.body().size_hint().exact().or_else(declared)
}

/// A handler is there: the answer is none of those that routers give by themselves.
/// That of a gRPC call speaks gRPC: whoever says that his request is one makes it none.
fn proves<R>(response: &Response<R>, grpc: bool) -> bool {
    let status = response.headers().get(&names::GRPC_STATUS);
    let answered = response.status().as_u16() < 400;
    let fits = !grpc || speaks_grpc(response.headers());
    answered && fits && status.is_none_or(|status| status.as_bytes() == b"0")
}
