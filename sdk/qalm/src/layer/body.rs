//! The body of an answer: passes the handler's frames on as they are, and gives
//! the place back when the answer is complete, or turns out to be a stream.

mod progress;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::holds::Hold;

pub(super) use progress::{Progress, grpc_failed};

pin_project! {
    /// The body of a response behind the layer.
    #[derive(Debug)]
    pub struct QalmBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        // The handler's.
        Passed {
            #[pin]
            body: B,
            running: Option<Running>,
        },
        // The layer's own words.
        Said { text: Option<Bytes> },
    }
}

/// A handler whose answer is still being produced.
#[derive(Debug)]
struct Running {
    hold: Hold,
    progress: Progress,
}

impl<B> QalmBody<B> {
    /// The handler's body. `hold` is `None` once the place was given back.
    pub(super) fn passed(body: B, hold: Option<(Hold, Progress)>) -> Self {
        let running = hold.map(|(hold, progress)| Running { hold, progress });
        Self { kind: Kind::Passed { body, running } }
    }

    pub(super) fn said(text: Bytes) -> Self {
        Self { kind: Kind::Said { text: Some(text).filter(|text| !text.is_empty()) } }
    }
}

impl<B: Body<Data = Bytes>> Body for QalmBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindProjection::Said { text } => Poll::Ready(text.take().map(|it| Ok(Frame::data(it)))),
            KindProjection::Passed { mut body, running } => {
                let polled = body.as_mut().poll_frame(cx);
                if let Some(mut it) = running.take() {
                    match it.progress.after(&polled, body.is_end_stream(), cx) {
                        Some(outcome) => it.hold.finish(outcome),
                        None => {
                            it.hold.asked(polled.is_pending());
                            *running = Some(it);
                        }
                    }
                }
                polled
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passed { body, .. } => body.is_end_stream(),
            Kind::Said { text } => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Passed { body, .. } => body.size_hint(),
            Kind::Said { text } => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
        }
    }
}
