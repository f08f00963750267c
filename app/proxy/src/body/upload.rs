//! The body of a request on its way to the service.
//!
//! Bounded in bytes if asked for; counted as a sign of life, so that a slow upload
//! is not mistaken for a slow service, nor one that never ends for a slow one; and
//! watched by QALM, so that a slow one does not hold a place. What the service has
//! not read when it answers is read here, up to a bound: an HTTP/2 server that leaves it unread
//! resets the stream, and after some hundreds of such streams its library closes
//! the whole connection with ENHANCE_YOUR_CALM, and every other call on it fails.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use plimsoll_qalm::layer::UploadWatch;
use tokio::time::Instant;

/// What is read at most of a body that nobody wants, in bytes: the first window of
/// HTTP/2, which a client may have sent before it can know.
const LEFTOVER: usize = 64 << 10;
/// And how long at most.
const LEFTOVER_WITHIN: Duration = Duration::from_secs(1);

/// What a body whose length was announced has to come at, in bytes a second: a byte
/// now and then would hold its place in the service for hours.
const PACE: f64 = 1024.0;

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Upload {
    /// `None` once it has ended.
    from: Option<Incoming>,
    /// Bytes that may still come.
    left: Option<u64>,
    /// Whether the rest may be read when nobody wants it.
    finish: bool,
    progress: std::sync::Arc<Progress>,
    /// `None` if nothing is shed here.
    watch: Option<UploadWatch>,
}

/// How a body comes along, for whoever waits for the answer.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    last_ns: AtomicU64,
    /// In bytes, if it was announced.
    length: Option<u64>,
    passed: AtomicU64,
    too_large: AtomicBool,
    broke: AtomicBool,
}

/// Why a body does not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the body is larger than the limit")]
    TooLarge,
    #[error("the client broke off")]
    Client(#[source] hyper::Error),
}

// === impl Upload ===

impl Upload {
    /// `from`, up to `limit` bytes. Its rest is read if nobody wants it, unless the
    /// client waits to be asked for it.
    pub(crate) fn new(
        from: Incoming,
        limit: Option<u64>,
        waits_to_be_asked: bool,
        watch: Option<UploadWatch>,
    ) -> (Self, std::sync::Arc<Progress>) {
        let progress = std::sync::Arc::new(Progress::start(from.size_hint().exact()));
        let it = Self {
            from: Some(from),
            left: limit,
            finish: !waits_to_be_asked,
            progress: progress.clone(),
            watch,
        };
        (it, progress)
    }

    fn poll_from(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(from) = &mut self.from else { return Poll::Ready(None) };
        let polled = Pin::new(from).poll_frame(cx);
        if let Some(watch) = &self.watch {
            watch.polled(polled.is_pending());
        }
        polled
    }

    fn count(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, Error> {
        self.progress.touch(frame.data_ref().map_or(0, Bytes::len));
        let (Some(left), Some(data)) = (&mut self.left, frame.data_ref()) else { return Ok(frame) };
        match left.checked_sub(data.len() as u64) {
            Some(rest) => {
                *left = rest;
                Ok(frame)
            }
            None => {
                self.progress.too_large.store(true, Ordering::Relaxed);
                Err(Error::TooLarge)
            }
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Poll::Ready(match ready!(self.poll_from(cx)) {
            Some(Ok(frame)) => Some(self.count(frame)),
            Some(Err(error)) => {
                self.from = None;
                self.progress.broke.store(true, Ordering::Relaxed);
                Some(Err(Error::Client(error)))
            }
            None => {
                self.from = None;
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.from.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.from.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // A body that is dropped keeps nobody waiting.
        if let Some(watch) = &self.watch {
            watch.polled(false);
        }
        let Some(rest) = self.from.take().filter(|from| self.finish && !from.is_end_stream())
        else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(LEFTOVER_WITHIN, discard(rest)));
        }
    }
}

async fn discard(mut rest: Incoming) {
    let mut read = 0;
    while read < LEFTOVER {
        let Some(Ok(frame)) = rest.frame().await else { return };
        // A frame without data counts too, or they could come forever.
        read += frame.data_ref().map_or(1, Bytes::len).max(1);
    }
}

// === impl Progress ===

impl Progress {
    fn start(length: Option<u64>) -> Self {
        Self {
            start: Instant::now(),
            last_ns: AtomicU64::new(0),
            length,
            passed: AtomicU64::new(0),
            too_large: AtomicBool::new(false),
            broke: AtomicBool::new(false),
        }
    }

    /// When to wait no longer if `limit` is how long may pass without a piece.
    pub(crate) fn due(&self, limit: Duration) -> Instant {
        let quiet = self.start + Duration::from_nanos(self.last_ns.load(Ordering::Relaxed)) + limit;
        self.out_of_pace(limit).map_or(quiet, |slow| slow.min(quiet))
    }

    /// Whether it is the body that is too slow for `limit`.
    pub(crate) fn is_too_slow(&self, limit: Duration) -> bool {
        self.out_of_pace(limit).is_some_and(|due| due <= Instant::now())
    }

    /// When the body is too slow, unless more of it comes; `None` if it need not hurry.
    fn out_of_pace(&self, limit: Duration) -> Option<Instant> {
        let passed = self.passed.load(Ordering::Relaxed);
        let is_coming = self.length.is_some_and(|length| passed > 0 && passed < length);
        is_coming.then(|| self.start + limit + Duration::from_secs_f64(passed as f64 / PACE))
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.too_large.load(Ordering::Relaxed)
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broke.load(Ordering::Relaxed)
    }

    fn touch(&self, bytes: usize) {
        self.passed.fetch_add(bytes as u64, Ordering::Relaxed);
        let since = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_ns.store(since, Ordering::Relaxed);
    }
}
