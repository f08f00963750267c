//! Reads the body of a request that is refused, to its end or a bound.
//!
//! On HTTP/2, answering a request whose body is still on its way resets its
//! stream, and a connection with too many such resets is closed by the peer or by
//! `h2` itself, with every call that is running on it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Buf;
use http::{Request, Version, header};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::Sleep;

/// How much of a refused request's body is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrainBounds {
    pub(super) bytes: usize,
    pub(super) time: Duration,
}

impl Default for DrainBounds {
    fn default() -> Self {
        Self { bytes: 64 << 10, time: Duration::from_millis(250) }
    }
}

pin_project! {
    /// Resolves once the answer may be sent.
    #[derive(Debug)]
    pub(super) struct Drain<B> {
        #[pin]
        body: B,
        left: usize,
        time: Duration,
        // Made only for a body that does not come at once.
        patience: Option<Pin<Box<Sleep>>>,
        // Its sender waits to be asked for it, and is not.
        unwanted: bool,
    }
}

impl<B> Drain<B> {
    /// On HTTP/1.1, whoever expects to be asked for the body before he sends it is
    /// told at once: reading would ask him.
    pub(super) fn new(request: Request<B>, bounds: DrainBounds) -> Self {
        let expects = request.headers().contains_key(header::EXPECT);
        let unwanted = expects && request.version() < Version::HTTP_2;
        let DrainBounds { bytes: left, time } = bounds;
        Self { body: request.into_body(), left, time, patience: None, unwanted }
    }
}

impl<B: Body> Future for Drain<B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        while !*this.unwanted && !this.body.is_end_stream() {
            let Poll::Ready(frame) = this.body.as_mut().poll_frame(cx) else {
                let patience =
                    this.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(*this.time)));
                ready!(patience.as_mut().poll(cx));
                break;
            };
            let Some(Ok(frame)) = frame else { break };
            let bytes = frame.data_ref().map_or(0, Buf::remaining);
            match this.left.checked_sub(bytes) {
                Some(left) => *this.left = left,
                None => break,
            }
        }
        Poll::Ready(())
    }
}
