//! The answer to a call that was passed on.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http;

use crate::peers::Used;

/// The leader's answer as it is. Its connection counts as used until the end.
pub(super) fn whole(answer: http::Response<Body>, used: Used) -> http::Response<Body> {
    answer.map(|body| Body::new(Passed { body, _used: used }))
}

struct Passed {
    body: Body,
    _used: Used,
}

impl HttpBody for Passed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
