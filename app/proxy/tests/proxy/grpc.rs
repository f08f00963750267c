//! gRPC through the proxy: tonic on both sides.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::Code;
use tonic::transport::{Channel, Endpoint, Server};
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::server::HealthReporter;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::support::{nowhere, page, proxy, proxy_with, soon};

/// Health (unary and server streaming) and reflection (bidirectional).
async fn service() -> (SocketAddr, HealthReporter) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (reporter, health) = tonic_health::server::health_reporter();
    let descriptors = tonic_health::pb::FILE_DESCRIPTOR_SET;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(descriptors)
        .build_v1()
        .unwrap();
    let serving = Server::builder()
        .add_service(health)
        .add_service(reflection)
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::spawn(serving);
    (address, reporter)
}

async fn channel(to: SocketAddr) -> Channel {
    Endpoint::from_shared(format!("http://{to}")).unwrap().connect().await.unwrap()
}

fn about(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

fn list() -> ServerReflectionRequest {
    let message_request = Some(MessageRequest::ListServices(String::new()));
    ServerReflectionRequest { host: String::new(), message_request }
}

#[tokio::test]
async fn a_call_is_answered() {
    let (address, _reporter) = service().await;
    let proxy = proxy(address).await;
    let mut client = HealthClient::new(channel(proxy.listen).await);
    let answer = soon(client.check(about(""))).await.unwrap();
    assert_eq!(answer.into_inner().status, ServingStatus::Serving as i32);
    let metrics = page(&proxy, "/metrics").await;
    let answered = "plimsoll_proxy_requests_total{protocol=\"grpc\",outcome=\"answered\"} 1\n";
    assert!(metrics.contains(answered), "{metrics}");
}

#[tokio::test]
async fn a_status_of_the_service_passes() {
    let (address, _reporter) = service().await;
    let proxy = proxy(address).await;
    let mut client = HealthClient::new(channel(proxy.listen).await);
    let status = soon(client.check(about("no.such.Service"))).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.metadata().get("x-proxy-reason").is_none());
}

#[tokio::test]
async fn a_stream_passes_message_by_message() {
    let (address, reporter) = service().await;
    let proxy = proxy(address).await;
    let mut client = HealthClient::new(channel(proxy.listen).await);
    let mut stream = soon(client.watch(about(""))).await.unwrap().into_inner();
    for status in [ServingStatus::Serving, ServingStatus::NotServing, ServingStatus::Serving] {
        reporter.set_service_status("", status).await;
        let message = soon(stream.message()).await.unwrap().unwrap();
        assert_eq!(message.status, status as i32);
    }
}

#[tokio::test]
async fn both_sides_stream_in_turn_and_the_trailers_end_it() {
    let (address, _reporter) = service().await;
    let proxy = proxy(address).await;
    let mut client = ServerReflectionClient::new(channel(proxy.listen).await);
    let (ask, asks) = mpsc::channel(1);
    ask.send(list()).await.unwrap();
    let answers = soon(client.server_reflection_info(ReceiverStream::new(asks))).await.unwrap();
    let mut answers = answers.into_inner();
    for _ in 0..20 {
        let answer = soon(answers.message()).await.unwrap().unwrap();
        let Some(MessageResponse::ListServicesResponse(list_of)) = answer.message_response else {
            panic!("{answer:?}");
        };
        assert!(list_of.service.iter().any(|service| service.name == "grpc.health.v1.Health"));
        ask.send(list()).await.unwrap();
    }
    drop(ask);
    while soon(answers.message()).await.unwrap().is_some() {}
    assert!(soon(answers.trailers()).await.unwrap().is_some());
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let proxy = proxy(nowhere().await).await;
    let mut client = HealthClient::new(channel(proxy.listen).await);
    let status = soon(client.check(about(""))).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("refused the connection"), "{status}");
    assert_eq!(status.metadata().get("x-proxy-reason").unwrap(), "upstream-refused");
}

#[tokio::test]
async fn a_service_that_says_nothing_is_a_deadline_exceeded() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = proxy_with(listener.local_addr().unwrap(), |settings| {
        settings.timeouts.first_byte = Duration::from_millis(100);
    })
    .await;
    let mut client = HealthClient::new(channel(proxy.listen).await);
    let status = soon(client.check(about(""))).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
}

#[tokio::test]
async fn an_upload_that_goes_on_is_not_mistaken_for_silence() {
    // The service answers only what has come to its end.
    let service = crate::support::Service::echo().await;
    let proxy = proxy_with(service.address, |settings| {
        settings.timeouts.first_byte = Duration::from_millis(300);
    })
    .await;
    let (mut client, _task) = crate::support::http2(proxy.listen).await;
    let pieces = futures::stream::unfold(0, |n| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        (n < 8).then(|| (Ok(http_body::Frame::data(bytes::Bytes::from("x"))), n + 1))
    });
    let body = http_body_util::BodyExt::boxed_unsync(http_body_util::StreamBody::new(pieces));
    let request = http::Request::post("http://a/").body(body).unwrap();
    let answer = soon(client.send_request(request)).await.unwrap();
    assert_eq!(crate::support::text(answer).await, "xxxxxxxx");
}

#[tokio::test]
async fn a_service_that_dies_ends_its_streams_as_unavailable() {
    // A runtime of its own, so that it can die whole, sockets included.
    let mortal = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (address, _reporter) = mortal.spawn(service()).await.unwrap();
    let proxy = proxy(address).await;
    let mut client = HealthClient::new(channel(proxy.listen).await);
    let mut stream = soon(client.watch(about(""))).await.unwrap().into_inner();
    soon(stream.message()).await.unwrap().unwrap();
    mortal.shutdown_background();
    let status = soon(stream.message()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("closed the connection"), "{status}");
}

#[tokio::test]
async fn leaving_ends_streams_as_unavailable_at_the_deadline() {
    let (address, _reporter) = service().await;
    let proxy = proxy_with(address, |settings| {
        settings.drain.deadline = Duration::from_millis(200);
    })
    .await;
    let mut client = HealthClient::new(channel(proxy.listen).await);
    let mut stream = soon(client.watch(about(""))).await.unwrap().into_inner();
    soon(stream.message()).await.unwrap().unwrap();
    let (drained, ended) =
        tokio::join!(soon(proxy.stop(std::future::pending())), soon(stream.message()));
    assert_eq!(drained.cut, 1);
    let status = ended.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("shutting down"), "{status}");
}
