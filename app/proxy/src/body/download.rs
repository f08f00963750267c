//! The body of an answer on its way to the client.
//!
//! A gRPC answer that cannot come to its end is given one: a status that says
//! why. A stream that just breaks reaches callers as an unknown error, which
//! they may not try again.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::Error;
use crate::causes;
use crate::failure::Failure;

/// What an answer occupies until its body has ended: dropping it gives it back.
pub(crate) type Held = Box<dyn Send + Sync>;

/// See the head of this file.
pub(crate) struct Download {
    /// `None` once it has ended.
    from: Option<Incoming>,
    grpc: bool,
    cut: Cut,
    held: Option<Held>,
}

/// The order to end, listened for only while there is something to wait for.
struct Cut {
    token: CancellationToken,
    waiting: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

// === impl Download ===

impl Download {
    pub(crate) fn new(from: Incoming, grpc: bool, cut: CancellationToken, held: Held) -> Self {
        Self { from: Some(from), grpc, cut: Cut { token: cut, waiting: None }, held: Some(held) }
    }

    fn end(&mut self) {
        self.from = None;
        self.held = None;
    }

    /// The last thing that a client gets of an answer that broke off.
    fn break_off(&mut self, error: Error) -> Result<Frame<Bytes>, Error> {
        self.end();
        let failure = match &error {
            Error::Cut => Failure::Leaving,
            // The service's own word to the client, which hyper passes on.
            Error::Upstream(source) if is_reset_by_peer(source) => return Err(error),
            Error::Upstream(_) => Failure::Lost,
        };
        if self.grpc { Ok(Frame::trailers(failure.trailers())) } else { Err(error) }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(from) = &mut self.from else { return Poll::Ready(None) };
        match Pin::new(from).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Some(self.break_off(Error::Upstream(error))))
            }
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Pending if self.cut.is_ordered(cx) => {
                Poll::Ready(Some(self.break_off(Error::Cut)))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.from.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.from.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download").field("from", &self.from).field("grpc", &self.grpc).finish()
    }
}

// === impl Cut ===

impl Cut {
    fn is_ordered(&mut self, cx: &mut Context<'_>) -> bool {
        let Self { token, waiting } = self;
        let waiting = waiting.get_or_insert_with(|| Box::pin(token.clone().cancelled_owned()));
        waiting.as_mut().poll(cx).is_ready()
    }
}

/// Whether the service itself reset the stream, rather than went away.
fn is_reset_by_peer(error: &hyper::Error) -> bool {
    let h2 = causes::first::<h2::Error>(error);
    h2.is_some_and(|error| error.is_reset() && error.is_remote())
}
