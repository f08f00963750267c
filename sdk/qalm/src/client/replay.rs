//! Request bodies that can be sent again.
//!
//! What a body yields is recorded while it is sent, up to a bound: nothing is held
//! up, and a body that turns out longer is simply not repeated.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt, Empty, Full};
use parking_lot::Mutex;

/// A request body that can be sent again. Made for the bodies of hyper's, axum's
/// and tonic's clients; whatever yields `Bytes` becomes one with
/// `BodyExt::boxed_unsync`.
pub trait Replayable: Sized {
    /// What keeps what was sent.
    type Tape;

    /// The body to send, and what keeps up to `bound` bytes of it.
    fn tape(self, bound: usize) -> (Self, Self::Tape);

    /// The body once more; `None` if it was longer than the bound, has failed, or
    /// is still being sent.
    fn again(tape: &Self::Tape) -> Option<Self>;
}

impl<D: Clone + bytes::Buf> Replayable for Full<D> {
    type Tape = Self;

    fn tape(self, _bound: usize) -> (Self, Self) {
        (self.clone(), self)
    }

    fn again(tape: &Self) -> Option<Self> {
        Some(tape.clone())
    }
}

impl<D> Replayable for Empty<D> {
    type Tape = ();

    fn tape(self, _bound: usize) -> (Self, ()) {
        (self, ())
    }

    fn again((): &()) -> Option<Self> {
        Some(Self::new())
    }
}

/// A body that can be anything, and therefore a recorder around itself.
macro_rules! replayable_box {
    ($($(#[$attribute:meta])* [$($generics:tt)*] $body:ty, $wrap:expr;)*) => {$(
        $(#[$attribute])*
        impl<$($generics)*> Replayable for $body {
            type Tape = Tape<Self>;

            fn tape(self, bound: usize) -> (Self, Tape<Self>) {
                let (recorder, tape) = Recorder::start(self, bound);
                ($wrap(recorder), tape)
            }

            fn again(tape: &Tape<Self>) -> Option<Self> {
                tape.rewind().map($wrap)
            }
        }
    )*};
}

replayable_box! {
    [E: Send + 'static] UnsyncBoxBody<Bytes, E>, BodyExt::boxed_unsync;
    [E: Send + Sync + 'static] BoxBody<Bytes, E>, BodyExt::boxed;
    #[cfg(feature = "grpc")] [] tonic::body::Body, tonic::body::Body::new;
    #[cfg(feature = "axum")] [] axum::body::Body, axum::body::Body::new;
}

/// What was sent of a body, and what was not sent yet.
#[derive(Debug)]
pub struct Tape<B>(Arc<Mutex<Recorded<B>>>);

#[derive(Debug)]
struct Recorded<B> {
    pieces: Vec<Piece>,
    bytes: usize,
    bound: usize,
    /// It was longer than the bound, or failed: it is not sent again.
    is_lost: bool,
    has_ended: bool,
    hint: SizeHint,
    /// What nobody is sending at the moment.
    rest: Option<B>,
}

#[derive(Clone, Debug)]
enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

/// Sends a body and records it.
#[derive(Debug)]
pub struct Recorder<B> {
    tape: Tape<B>,
    /// The piece that is sent next.
    next: usize,
    rest: Option<B>,
}

impl<B: Body<Data = Bytes> + Unpin> Recorder<B> {
    /// Starts with a body of which nothing was sent.
    pub fn start(body: B, bound: usize) -> (Self, Tape<B>) {
        let recorded = Recorded {
            pieces: Vec::new(),
            bytes: 0,
            bound,
            is_lost: false,
            has_ended: body.is_end_stream(),
            hint: body.size_hint(),
            rest: None,
        };
        let recorded = Arc::new(Mutex::new(recorded));
        let tape = Tape(recorded.clone());
        (Self { tape: Tape(recorded), next: 0, rest: Some(body) }, tape)
    }
}

impl<B> Tape<B> {
    /// The same body from its beginning, if it is all there.
    pub fn rewind(&self) -> Option<Recorder<B>> {
        let recorded = self.0.lock();
        let is_there = recorded.has_ended || recorded.rest.is_some();
        let tape = Self(self.0.clone());
        (is_there && !recorded.is_lost).then_some(Recorder { tape, next: 0, rest: None })
    }
}

impl<B> Recorded<B> {
    fn keep(&mut self, piece: Piece) {
        if let Piece::Data(data) = &piece {
            self.bytes += data.len();
        }
        if self.bytes > self.bound {
            self.lose();
        }
        if !self.is_lost {
            self.pieces.push(piece);
        }
    }

    fn lose(&mut self) {
        self.is_lost = true;
        self.pieces = Vec::new();
    }
}

impl<B> Drop for Recorder<B> {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            self.tape.0.lock().rest = Some(rest);
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Recorder<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Self { tape, next, rest } = &mut *self;
        let mut recorded = tape.0.lock();
        if let Some(piece) = recorded.pieces.get(*next) {
            *next += 1;
            return Poll::Ready(Some(Ok(piece.clone().into())));
        }
        if rest.is_none() {
            *rest = recorded.rest.take();
        }
        let Some(body) = rest else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        match &frame {
            None => recorded.has_ended = true,
            Some(Err(_)) => recorded.lose(),
            Some(Ok(frame)) => {
                if let Some(piece) = Piece::of(frame) {
                    recorded.keep(piece);
                    *next = recorded.pieces.len();
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let recorded = self.tape.0.lock();
        let is_over = self.rest.as_ref().is_some_and(Body::is_end_stream) || recorded.has_ended;
        is_over && self.next >= recorded.pieces.len()
    }

    fn size_hint(&self) -> SizeHint {
        if self.next == 0 { self.tape.0.lock().hint } else { SizeHint::default() }
    }
}

impl Piece {
    fn of(frame: &Frame<Bytes>) -> Option<Self> {
        match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) => Some(Self::Data(data.clone())),
            (None, Some(trailers)) => Some(Self::Trailers(trailers.clone())),
            (None, None) => None,
        }
    }
}

impl From<Piece> for Frame<Bytes> {
    fn from(piece: Piece) -> Self {
        match piece {
            Piece::Data(data) => Self::data(data),
            Piece::Trailers(trailers) => Self::trailers(trailers),
        }
    }
}

#[cfg(test)]
mod tests;
