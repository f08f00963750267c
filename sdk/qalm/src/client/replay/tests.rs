use std::convert::Infallible;

use futures::{FutureExt, StreamExt, stream};
use http_body_util::StreamBody;

use super::*;

type Boxed = UnsyncBoxBody<Bytes, Infallible>;

fn data(text: &'static str) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

fn body(pieces: Vec<Result<Frame<Bytes>, Infallible>>) -> Boxed {
    StreamBody::new(stream::iter(pieces)).boxed_unsync()
}

fn trailers() -> HeaderMap {
    [(http::header::ETAG, http::HeaderValue::from_static("x"))].into_iter().collect()
}

async fn text(body: Boxed) -> (String, Option<HeaderMap>) {
    let collected = body.collect().await.unwrap();
    let trailers = collected.trailers().cloned();
    (String::from_utf8(collected.to_bytes().to_vec()).unwrap(), trailers)
}

#[tokio::test]
async fn a_body_is_sent_again_with_its_trailers() {
    let (first, tape) = body(vec![data("ab"), data("cd"), Ok(Frame::trailers(trailers()))]).tape(4);
    drop(first);
    for _ in 0..3 {
        let again = Boxed::again(&tape).unwrap();
        assert_eq!(text(again).await, ("abcd".to_owned(), Some(trailers())));
    }
}

#[tokio::test]
async fn what_was_not_sent_yet_is_sent_from_the_body_itself() {
    let (mut first, tape) = body(vec![data("ab"), data("cd")]).tape(64);
    first.frame().await.unwrap().unwrap();
    assert!(Boxed::again(&tape).is_none(), "it is still being sent");
    drop(first);
    assert_eq!(text(Boxed::again(&tape).unwrap()).await.0, "abcd");
    assert_eq!(text(Boxed::again(&tape).unwrap()).await.0, "abcd");
}

#[tokio::test]
async fn a_body_longer_than_the_bound_is_sent_whole_and_once() {
    let (first, tape) = body(vec![data("ab"), data("cd"), data("e")]).tape(4);
    assert_eq!(text(first).await.0, "abcde");
    assert!(Boxed::again(&tape).is_none());
}

#[tokio::test]
async fn a_body_that_waits_holds_nothing_up() {
    let waiting = stream::iter([data("ab")]).chain(stream::pending());
    let (mut first, tape) = StreamBody::new(waiting).boxed_unsync().tape(64);
    first.frame().await.unwrap().unwrap();
    assert!(first.frame().now_or_never().is_none());
    assert!(Boxed::again(&tape).is_none());
}

#[tokio::test]
async fn lengths_that_are_known_stay_known() {
    let (first, tape) = Full::new(Bytes::from_static(b"abc")).boxed_unsync().tape(64);
    assert_eq!((first.size_hint().exact(), first.is_end_stream()), (Some(3), false));
    assert_eq!(text(first).await.0, "abc");
    assert_eq!(Boxed::again(&tape).unwrap().size_hint().exact(), Some(3));
    let (empty, tape) = Empty::<Bytes>::new().boxed_unsync().tape(64);
    assert!(empty.is_end_stream() && Boxed::again(&tape).unwrap().is_end_stream());
}
