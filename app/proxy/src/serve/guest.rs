//! The stack as one client sees it: every request knows where it came from, and
//! occupies its connection until the answer has been sent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::activity::{Activity, Busy};
use crate::headers::Peer;

/// See the head of this file.
#[derive(Clone, Debug)]
pub(super) struct Guest<S> {
    stack: S,
    peer: Peer,
    activity: Arc<Activity>,
}

pin_project! {
    /// An answer that is being waited for.
    #[derive(Debug)]
    pub(super) struct Answering<F> {
        #[pin]
        answer: F,
        busy: Option<Busy>,
    }
}

pin_project! {
    /// The body of an answer; the connection is busy until it is dropped.
    #[derive(Debug)]
    pub(super) struct Sending<B> {
        #[pin]
        body: B,
        busy: Option<Busy>,
    }
}

impl<S> Guest<S> {
    pub(super) fn new(stack: S, peer: Peer, activity: Arc<Activity>) -> Self {
        Self { stack, peer, activity }
    }
}

impl<S, B> Service<Request<Incoming>> for Guest<S>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
{
    type Response = Response<Sending<B>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.stack.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        let busy = Some(self.activity.request());
        Answering { answer: self.stack.call(request), busy }
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<Sending<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(cx));
        let busy = this.busy.take();
        Poll::Ready(answer.map(|answer| answer.map(|body| Sending { body, busy })))
    }
}

impl<B: Body> Body for Sending<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
