//! What is going on, for people: every queue, the last refusals, the policy. As
//! text, or as JSON with `?format=json`.
//!
//! It names endpoints and callers: for an internal port, not for the world.

mod json;
mod picture;
mod text;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use tower_service::Service;

use super::protection::Protection;
use picture::Picture;

/// An HTTP service that shows the live state of a [`QalmLayer`](super::QalmLayer),
/// whatever the path and the method.
#[derive(Clone, Debug)]
pub struct DebugService {
    protection: Arc<Protection>,
}

impl DebugService {
    pub(super) fn new(protection: Arc<Protection>) -> Self {
        Self { protection }
    }

    /// The page as text.
    pub fn text(&self) -> String {
        text::page(&Picture::of(&self.protection))
    }

    /// The page as a JSON document.
    pub fn json(&self) -> String {
        json::document(&Picture::of(&self.protection))
    }
}

impl<B> Service<Request<B>> for DebugService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default();
        let json = query.split('&').any(|pair| pair == "format=json");
        let (kind, page) = match json {
            true => ("application/json", self.json()),
            false => ("text/plain; charset=utf-8", self.text()),
        };
        let mut response = Response::new(Full::from(page));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        ready(Ok(response))
    }
}
