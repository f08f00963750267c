//! A session that is piped to its leader. Whole messages pass; when the leader is
//! another one, or cannot be reached, the executor is told to say hello again.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body::{Body as HttpBody, Frame};
use plimsoll_wire::v1;
use prost::Message;
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{self, HeaderMap, HeaderValue};

use crate::listing::LedBy;
use crate::metrics::Open;
use crate::peers::Used;

/// Before every message: whether it is compressed, and its length.
const PREFIX: usize = 5;
const STATUS: &str = "grpc-status";

/// The leader's half of a session, for as long as the leadership of that epoch lasts.
pub(super) fn session(
    answer: http::Response<Body>,
    leaders: Option<watch::Receiver<Option<LedBy>>>,
    epoch: u64,
    used: Used,
    open: Open,
) -> http::Response<Body> {
    // Refused: the answer has no body.
    if answer.headers().contains_key(STATUS) {
        return answer;
    }
    let changed = async move {
        match leaders {
            Some(mut leaders) => {
                let is_other =
                    |leader: &Option<LedBy>| leader.as_ref().is_some_and(|it| it.epoch != epoch);
                // A namespace that is gone tells by itself.
                if leaders.wait_for(is_other).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            None => std::future::pending().await,
        }
    };
    answer.map(|body| {
        let changed = changed.boxed();
        Body::new(Piped {
            body,
            kept: BytesMut::new(),
            changed,
            left: Left::Messages,
            _used: used,
            _open: open,
        })
    })
}

struct Piped {
    body: Body,
    /// The beginning of a message whose end has not come.
    kept: BytesMut,
    changed: BoxFuture<'static, ()>,
    left: Left,
    _used: Used,
    _open: Open,
}

/// What is still to be told.
enum Left {
    Messages,
    Trailers,
    Nothing,
}

impl Piped {
    /// Every message that is whole.
    fn whole(&mut self) -> Option<Bytes> {
        let mut end = 0;
        while let Some(bytes) = self.kept.get(end + 1..end + PREFIX) {
            let length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            if self.kept.len() < end + PREFIX + length {
                break;
            }
            end += PREFIX + length;
        }
        (end > 0).then(|| self.kept.split_to(end).freeze())
    }

    fn farewell(&mut self) -> Frame<Bytes> {
        self.left = Left::Trailers;
        Frame::data(farewell())
    }
}

impl HttpBody for Piped {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.left {
            Left::Nothing => return Poll::Ready(None),
            Left::Trailers => {
                self.left = Left::Nothing;
                return Poll::Ready(Some(Ok(Frame::trailers(good_end()))));
            }
            Left::Messages => {}
        }
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        self.kept.extend_from_slice(&data);
                        if let Some(whole) = self.whole() {
                            return Poll::Ready(Some(Ok(Frame::data(whole))));
                        }
                    }
                    Err(trailers) => {
                        self.left = Left::Nothing;
                        return Poll::Ready(Some(Ok(trailers)));
                    }
                },
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(Some(Ok(self.farewell()))),
                Poll::Pending => break,
            }
        }
        match self.changed.poll_unpin(context) {
            Poll::Ready(()) => Poll::Ready(Some(Ok(self.farewell()))),
            Poll::Pending => Poll::Pending,
        }
    }
}

fn farewell() -> Bytes {
    let reason = v1::farewell::Reason::ServerLeaving.into();
    let message = v1::session_response::Message::Farewell(v1::Farewell { reason });
    let message = v1::SessionResponse { message: Some(message) };
    let mut framed = BytesMut::with_capacity(PREFIX + message.encoded_len());
    framed.put_u8(0);
    // A farewell is four bytes.
    framed.put_u32(message.encoded_len() as u32);
    framed.put_slice(&message.encode_to_vec());
    framed.freeze()
}

fn good_end() -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static(STATUS), HeaderValue::from_static("0"))])
}
