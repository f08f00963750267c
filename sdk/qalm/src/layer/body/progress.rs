//! Whether an answer is complete, or a stream, from the frames it has had.
//!
//! Nothing in the head of a gRPC response says which of the two it is. But a
//! unary answer goes on to its end once it has begun; what pauses after it has
//! begun is a stream, and may pause for hours.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use http_body::Frame;
use plimsoll_shedding::verdict::Outcome;
use tokio::time::Sleep;

use crate::headers::names;

/// What a unary answer may pause between its first frame and its last: a proxied
/// one gets its trailers in a packet of their own.
const GRACE: Duration = Duration::from_millis(25);
/// An answer that goes on after so many bytes is a stream: its time depends on
/// the reader.
const UNARY_BYTES: u64 = 1 << 20;

/// What has been seen of an answer.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Bytes that are still to come, if the head said how many.
    expected: Option<u64>,
    passed: u64,
    /// It has begun, and then paused.
    paused: bool,
    /// Made only for an answer that pauses.
    grace: Option<Pin<Box<Sleep>>>,
}

impl Progress {
    pub(crate) fn new(expected: Option<u64>) -> Self {
        Self { expected, passed: 0, paused: false, grace: None }
    }

    /// How the handler ended, if what was polled last says that it did.
    pub(super) fn after<E>(
        &mut self,
        polled: &Poll<Option<Result<Frame<Bytes>, E>>>,
        is_end: bool,
        cx: &mut Context<'_>,
    ) -> Option<Outcome> {
        match polled {
            Poll::Pending => self.after_pause(cx),
            Poll::Ready(None) => Some(Outcome::Answered),
            Poll::Ready(Some(Err(_))) => Some(Outcome::Abandoned),
            Poll::Ready(Some(Ok(frame))) => match (frame.data_ref(), frame.trailers_ref()) {
                (Some(data), _) => self.after_data(data.len() as u64, is_end),
                (None, Some(trailers)) => Some(ending(trailers)),
                (None, None) => is_end.then_some(Outcome::Answered),
            },
        }
    }

    fn after_data(&mut self, bytes: u64, is_end: bool) -> Option<Outcome> {
        self.passed += bytes;
        if is_end || self.expected.is_some_and(|expected| self.passed >= expected) {
            return Some(Outcome::Answered);
        }
        let goes_on = self.paused && self.expected.is_none();
        (goes_on || self.passed > UNARY_BYTES).then_some(Outcome::Streaming)
    }

    fn after_pause(&mut self, cx: &mut Context<'_>) -> Option<Outcome> {
        if self.passed == 0 || self.expected.is_some() {
            return None;
        }
        self.paused = true;
        let grace = self.grace.get_or_insert_with(|| Box::pin(tokio::time::sleep(GRACE)));
        grace.as_mut().poll(cx).is_ready().then_some(Outcome::Streaming)
    }
}

/// What the trailers say: a failure of the service's own says nothing about how
/// long an answer takes.
fn ending(trailers: &HeaderMap) -> Outcome {
    if grpc_failed(trailers) { Outcome::Abandoned } else { Outcome::Answered }
}

/// Unknown, internal, unavailable, data loss: not the caller's doing.
pub(crate) fn grpc_failed(headers: &HeaderMap) -> bool {
    let status = headers.get(&names::GRPC_STATUS).map(HeaderValue::as_bytes);
    matches!(status, Some(b"2" | b"13" | b"14" | b"15"))
}
