//! A body that says when it keeps its handler waiting.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::UploadWatch;

pin_project! {
    /// A body that tells how its client sends it.
    #[derive(Debug)]
    pub(super) struct Watched<B> {
        #[pin]
        body: B,
        watch: Reading,
    }
}

impl<B> Watched<B> {
    pub(super) fn new(body: B, watch: &UploadWatch) -> Self {
        Self { body, watch: Reading(watch.clone()) }
    }
}

/// A body that is dropped keeps nobody waiting.
#[derive(Debug)]
struct Reading(UploadWatch);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.polled(false);
    }
}

impl<B: Body> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let polled = this.body.poll_frame(cx);
        this.watch.0.polled(polled.is_pending());
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
