//! Refusing as fast as calls come, without losing the connections they come on.

use axum::Router;
use axum::routing::post;
use http::StatusCode;
use plimsoll_qalm::QalmLayer;
use tonic::{Code, Request};

use crate::grpc::{call, channel, serve_grpc};
use crate::harness::*;
use crate::quotes::QuoteService;

const CALLS: usize = 100_000;
const CONNECTIONS: usize = 2;
const IN_FLIGHT: usize = 256;
const EACH: usize = CALLS / IN_FLIGHT;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_refused_posts_leave_two_connections_open() {
    let layer = QalmLayer::new();
    let router = Router::new().route("/post", post(|body: String| async move { body }));
    let server = serve(router.layer(layer.clone())).await;
    let clients = [connect2(server.address).await, connect2(server.address).await];
    layer.shut_down();
    let workers: Vec<_> = (0..IN_FLIGHT)
        .map(|worker| {
            let mut client = clients[worker % CONNECTIONS].clone();
            tokio::spawn(async move {
                for _ in 0..EACH {
                    let request = with_body("POST", "/post", "a body that nobody wants to read");
                    let response = client.send_request(request).await.expect("an answer");
                    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
                    assert_eq!(header(&response, "x-shed-reason"), "shutting_down");
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("every call is answered");
    }
    assert_eq!(server.connections(), CONNECTIONS);
    assert!(clients.iter().all(|client| !client.is_closed()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_refused_calls_leave_two_channels_connected() {
    let layer = QalmLayer::new();
    let server = serve_grpc(&layer, QuoteService::default()).await;
    let channels = [channel(&server).await, channel(&server).await];
    layer.shut_down();
    let workers: Vec<_> = (0..IN_FLIGHT)
        .map(|worker| {
            let channel = channels[worker % CONNECTIONS].clone();
            tokio::spawn(async move {
                for _ in 0..EACH {
                    let request = Request::new("a message that nobody reads".to_owned());
                    let refused = call(&channel, "/test.v1.Quotes/Get", request).await;
                    assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("every call is refused, none is lost");
    }
    assert_eq!(server.connections(), CONNECTIONS, "no channel had to connect again");
}

#[tokio::test]
async fn a_body_that_never_ends_delays_its_refusal_but_not_for_ever() {
    use bytes::Bytes;
    use http_body::Frame;
    use http_body_util::StreamBody;
    let layer = QalmLayer::new();
    let server = serve(Router::new().route("/", post(|| async {})).layer(layer.clone())).await;
    layer.shut_down();
    let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let executor = hyper_util::rt::TokioExecutor::new();
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(executor, io).await.unwrap();
    tokio::spawn(connection);
    let first = futures::stream::iter([Ok::<_, std::convert::Infallible>(Frame::data(
        Bytes::from_static(b"some"),
    ))]);
    let body = StreamBody::new(futures::StreamExt::chain(first, futures::stream::pending()));
    let request = http::Request::post(format!("http://{}/", server.address)).body(body).unwrap();
    let response = in_time(client.send_request(request)).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
}
