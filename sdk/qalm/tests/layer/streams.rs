//! Answers that go on: they hold no place after their first byte, and pass as
//! they are.

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::*;

fn endless_of(kind: &'static str) -> Response {
    Response::builder().header("content-type", kind).body(endless("data: first\n\n")).unwrap()
}

#[tokio::test]
async fn server_sent_events_and_endless_answers_hold_no_place() {
    let layer = layer_with(1, 10);
    let router = Router::new()
        .route("/events", get(|| async { endless_of("text/event-stream") }))
        .route("/endless", get(|| async { endless_of("text/plain") }))
        .layer(layer.clone());
    let server = serve(router).await;
    let mut open = Vec::new();
    for path in ["/events", "/endless", "/events", "/endless"] {
        let mut client = connect1(server.address).await;
        let mut response = in_time(client.send_request(request("GET", path))).await.unwrap();
        let first = in_time(response.body_mut().frame()).await.unwrap().unwrap();
        assert_eq!(first.data_ref().map(|it| &it[..]), Some(&b"data: first\n\n"[..]));
        until(|| inflight(&layer) == 0).await;
        open.push((client, response));
    }
}

#[tokio::test]
async fn an_answer_that_has_not_begun_holds_its_place() {
    let layer = layer_with(1, 10);
    let silent =
        || async { Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>()) };
    let server = serve(Router::new().route("/", get(silent)).layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    let response = in_time(client.send_request(request("GET", "/"))).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    assert_eq!(inflight(&layer), 1);
    drop((response, client));
    until(|| inflight(&layer) == 0).await;
}

#[tokio::test]
async fn trailers_pass() {
    let trailing = || async {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-checksum", HeaderValue::from_static("7"));
        let frames = [
            Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"body"))),
            Ok(Frame::trailers(trailers)),
        ];
        Body::new(StreamBody::new(futures::stream::iter(frames)))
    };
    let layer = layer_with(1, 10);
    let server = serve(Router::new().route("/", get(trailing)).layer(layer.clone())).await;
    let mut client = connect2(server.address).await;
    let response = in_time(client.send_request(request("GET", "/"))).await.unwrap();
    let whole = in_time(response.into_body().collect()).await.unwrap();
    assert_eq!(whole.trailers().and_then(|it| it.get("x-checksum")).unwrap(), "7");
    assert_eq!(whole.to_bytes(), "body");
    until(|| inflight(&layer) == 0).await;
}

#[tokio::test]
async fn an_upgraded_connection_holds_no_place_and_carries_bytes_both_ways() {
    async fn echo(mut request: axum::extract::Request) -> Response {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut io = TokioIo::new(upgrade.await.unwrap());
            let mut word = [0; 5];
            io.read_exact(&mut word).await.unwrap();
            io.write_all(&word).await.unwrap();
        });
        let switched = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        switched
            .header("connection", "upgrade")
            .header("upgrade", "echo")
            .body(Body::empty())
            .unwrap()
    }
    let layer = layer_with(1, 10);
    let server = serve(Router::new().route("/", get(echo)).layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    let mut request = request("GET", "/");
    request.headers_mut().insert("connection", "upgrade".parse().unwrap());
    request.headers_mut().insert("upgrade", "echo".parse().unwrap());
    let response = in_time(client.send_request(request)).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    until(|| inflight(&layer) == 0).await;
    let mut io = TokioIo::new(in_time(hyper::upgrade::on(response)).await.unwrap());
    in_time(io.write_all(b"hello")).await.unwrap();
    let mut word = [0; 5];
    in_time(io.read_exact(&mut word)).await.unwrap();
    assert_eq!(&word, b"hello");
}
