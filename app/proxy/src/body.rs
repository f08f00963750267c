//! Bodies on their way: passed on frame by frame, never held whole.

mod download;
mod upload;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

pub(crate) use download::{Download, Held};
pub(crate) use upload::{Error as UploadError, Progress, Upload};

/// The body of an answer: the service's, or a text of the proxy's own.
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    /// The proxy's own; `None` once it is sent.
    Text(Option<Bytes>),
    Passing(Download),
}

/// Why an answer that had begun did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the service broke off its answer")]
    Upstream(#[source] hyper::Error),
    #[error("the proxy is shutting down and could wait no longer for the end of the answer")]
    Cut,
}

impl Body {
    /// Nothing at all.
    pub fn empty() -> Self {
        Self(Kind::Text(None))
    }

    /// `text`, whole.
    pub fn text(text: impl Into<Bytes>) -> Self {
        Self(Kind::Text(Some(text.into())))
    }

    pub(crate) fn passing(download: Download) -> Self {
        Self(Kind::Passing(download))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match &mut self.get_mut().0 {
            Kind::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Kind::Passing(download) => Pin::new(download).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Text(text) => text.is_none(),
            Kind::Passing(download) => download.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Passing(download) => download.size_hint(),
        }
    }
}
