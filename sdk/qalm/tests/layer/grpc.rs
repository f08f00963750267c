//! gRPC: the layer around a whole tonic server, or around one service.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::uri::PathAndQuery;
use plimsoll_qalm::QalmLayer;
use tokio::net::TcpListener;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Server as Tonic};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::Layer;

use crate::harness::*;
use crate::quotes::QuoteService;

pub(crate) async fn serve_grpc(layer: &QalmLayer, service: QuoteService) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let incoming = TcpListenerStream::new(listener).map(move |stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        stream
    });
    let server = Tonic::builder().layer(layer.clone()).add_service(service);
    tokio::spawn(server.serve_with_incoming(incoming));
    Server { address, connections }
}

pub(crate) async fn channel(server: &Server) -> Channel {
    let uri = format!("http://{}", server.address);
    Channel::from_shared(uri).unwrap().connect().await.unwrap()
}

async fn ready(channel: &Channel) -> Grpc<Channel> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    grpc
}

pub(crate) async fn call(
    channel: &Channel,
    method: &'static str,
    request: Request<String>,
) -> Result<Response<String>, Status> {
    let codec = ProstCodec::<String, String>::default();
    ready(channel).await.unary(request, PathAndQuery::from_static(method), codec).await
}

async fn watch(channel: &Channel) -> Streaming<String> {
    let codec = ProstCodec::<String, String>::default();
    let path = PathAndQuery::from_static("/test.v1.Quotes/Watch");
    let request = Request::new("all".to_owned());
    ready(channel).await.server_streaming(request, path, codec).await.unwrap().into_inner()
}

fn word(status: &Status, name: &str) -> String {
    let value = status.metadata().get(name);
    value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn an_admitted_call_passes_with_its_trailers() {
    let layer = QalmLayer::new();
    let server = serve_grpc(&layer, QuoteService::default()).await;
    let channel = channel(&server).await;
    for _ in 0..3 {
        let answer = call(&channel, "/test.v1.Quotes/Get", Request::new("ACME".to_owned())).await;
        assert_eq!(answer.unwrap().into_inner(), "ACME: 42");
    }
    until(|| inflight(&layer) == 0).await;
    let names: Vec<String> =
        layer.gate().queues().iter().map(|queue| queue.name.to_string()).collect();
    assert_eq!(names, ["(other)", "/test.v1.Quotes/Get"]);
}

#[tokio::test]
async fn made_up_methods_get_no_queues() {
    let layer = QalmLayer::new();
    let server = serve_grpc(&layer, QuoteService::default()).await;
    let channel = channel(&server).await;
    for method in ["/test.v1.Quotes/A", "/test.v1.Quotes/B", "/no.Such/Service"] {
        let status = call(&channel, method, Request::new(String::new())).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented);
    }
    assert_eq!(layer.gate().queues().len(), 1);
}

#[tokio::test]
async fn a_refused_call_is_told_when_to_come_again() {
    let (layer, service) = (layer_with(1, 1), QuoteService::default());
    let server = serve_grpc(&layer, service.clone()).await;
    let channel = channel(&server).await;
    let held = || {
        let channel = channel.clone();
        tokio::spawn(async move {
            call(&channel, "/test.v1.Quotes/Held", Request::new(String::new())).await
        })
    };
    let running = held();
    until(|| inflight(&layer) == 1).await;
    let waits = held();
    until(|| waiting(&layer) == 1).await;
    let mut least = Request::new(String::new());
    least.metadata_mut().insert("x-plimsoll-criticality", "4".parse().unwrap());
    let status = in_time(call(&channel, "/test.v1.Quotes/Held", least)).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().starts_with("shed: "), "{status}");
    assert!(["overload", "queue_full"].contains(&word(&status, "x-shed-reason").as_str()));
    assert!(word(&status, "grpc-retry-pushback-ms").parse::<u64>().is_ok());
    service.held.add_permits(2);
    assert!(in_time(running).await.unwrap().is_ok());
    let _either = in_time(waits).await.unwrap();
}

#[tokio::test]
async fn a_call_past_its_deadline_is_answered_as_expired() {
    let (layer, service) = (layer_with(1, 10), QuoteService::default());
    let server = serve_grpc(&layer, service.clone()).await;
    let channel = channel(&server).await;
    let other = channel.clone();
    let running = tokio::spawn(async move {
        call(&other, "/test.v1.Quotes/Held", Request::new(String::new())).await
    });
    until(|| inflight(&layer) == 1).await;
    let mut late = Request::new(String::new());
    late.metadata_mut().insert("x-plimsoll-deadline-ms", "30".parse().unwrap());
    let status = in_time(call(&channel, "/test.v1.Quotes/Held", late)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(word(&status, "x-shed-reason"), "expired");
    service.held.add_permits(1);
    assert!(in_time(running).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_stream_holds_no_place_after_its_first_message() {
    let layer = layer_with(1, 10);
    let server = serve_grpc(&layer, QuoteService::default()).await;
    let channel = channel(&server).await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut stream = in_time(watch(&channel)).await;
        assert_eq!(in_time(stream.message()).await.unwrap().as_deref(), Some("first"));
        streams.push(stream);
        until(|| inflight(&layer) == 0).await;
    }
    let answer = in_time(call(&channel, "/test.v1.Quotes/Get", Request::new("x".to_owned()))).await;
    assert!(answer.is_ok(), "five streams are open, and one place is enough");
}

#[tokio::test]
async fn a_single_service_keeps_its_name() {
    let layer = QalmLayer::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = layer.layer(QuoteService::default());
    let server = Tonic::builder().add_service(service);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let channel =
        Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let answer = call(&channel, "/test.v1.Quotes/Get", Request::new("ACME".to_owned())).await;
    assert_eq!(answer.unwrap().into_inner(), "ACME: 42");
    layer.shut_down();
    let status = call(&channel, "/test.v1.Quotes/Get", Request::new(String::new())).await;
    assert_eq!(word(&status.unwrap_err(), "x-shed-reason"), "shutting_down");
}

#[tokio::test]
async fn a_call_that_is_cancelled_frees_its_place() {
    let (layer, service) = (layer_with(1, 10), QuoteService::default());
    let server = serve_grpc(&layer, service).await;
    let channel = channel(&server).await;
    let held = call(&channel, "/test.v1.Quotes/Held", Request::new(String::new()));
    let patience = Duration::from_millis(100);
    assert!(tokio::time::timeout(patience, held).await.is_err());
    until(|| inflight(&layer) == 0).await;
}
