//! The client layers over real connections: hyper's client and tonic's.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use plimsoll_qalm::Context;
use plimsoll_qalm::client::{BoxError, Client, ClientLayer, NotSent, Retry, RetryLayer, Why};
use plimsoll_qalm::shedding::Criticality;
use plimsoll_qalm::shedding::criticality::Cohort;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::{Service, ServiceBuilder, ServiceExt};

/// What a callee was sent.
type Seen = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

/// Refuses the first so many calls, for 20 ms each, and answers the others.
async fn callee(refuses: usize) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let memory = seen.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let memory = memory.clone();
            let service = service_fn(move |request| answer(request, memory.clone(), refuses));
            tokio::spawn(async move {
                let io = TokioIo::new(stream);
                auto::Builder::new(TokioExecutor::new()).serve_connection(io, service).await
            });
        }
    });
    (address, seen)
}

async fn answer(
    request: Request<Incoming>,
    seen: Seen,
    refuses: usize,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let is_grpc = parts.headers.get("content-type").is_some_and(|it| it == "application/grpc");
    let count = {
        let mut seen = seen.lock();
        seen.push((parts.headers, body));
        seen.len()
    };
    let builder = match count <= refuses {
        true => Response::builder()
            .header("x-shed-reason", "overload")
            .header("x-shed-level", "2")
            .header("retry-after", "1")
            .header("retry-after-ms", "20"),
        false => Response::builder(),
    };
    Ok(match (is_grpc, count <= refuses) {
        (true, true) => {
            builder.header("content-type", "application/grpc").header("grpc-status", "8")
        }
        (true, false) => {
            builder.header("content-type", "application/grpc").header("grpc-status", "12")
        }
        (false, true) => builder.status(StatusCode::SERVICE_UNAVAILABLE),
        (false, false) => builder,
    }
    .body(Full::new(Bytes::new()))
    .unwrap())
}

fn layered<S>(service: S, level: Option<Criticality>) -> Retry<Client<S>> {
    let layer = ClientLayer::new("me").unwrap();
    let layer = level.map_or(layer.clone(), |it| layer.level(it));
    ServiceBuilder::new().layer(RetryLayer::new().budget(1.0)).layer(layer).service(service)
}

fn of_level(level: Criticality) -> Context {
    let deadline = Some(Instant::now() + Duration::from_secs(9));
    Context { level, cohort: Cohort::from_hash(77), deadline }
}

#[tokio::test]
async fn hyper_sends_the_headers_and_repeats_a_streamed_body() {
    for http2 in [false, true] {
        let (address, seen) = callee(1).await;
        let client = HyperClient::builder(TokioExecutor::new()).http2_only(http2).build_http();
        let pieces = ["he", "llo"].map(|it| Ok::<_, Infallible>(Frame::data(Bytes::from(it))));
        let body = StreamBody::new(futures::stream::iter(pieces)).boxed_unsync();
        let request = Request::post(format!("http://{address}/v1/users/7")).body(body).unwrap();
        let call = layered(client, None).oneshot(request);
        let answer = of_level(Criticality::Feature).scope(call).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let seen = seen.lock();
        assert_eq!(seen.len(), 2);
        for (headers, body) in &*seen {
            assert_eq!(body, "hello");
            assert_eq!(headers["rpc-caller"], "me");
            assert_eq!(headers["x-plimsoll-criticality"], "3");
            assert_eq!(headers["x-plimsoll-cohort"], "77");
        }
        let left = |at: usize| {
            seen[at].0["x-plimsoll-deadline-ms"].to_str().unwrap().parse::<u64>().unwrap()
        };
        assert!(left(0) <= 9_000 && left(1) + 20 <= left(0), "{} {}", left(0), left(1));
    }
}

#[tokio::test]
async fn tonic_sends_the_headers_and_repeats_what_was_refused() {
    let (address, seen) = callee(1).await;
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    let mut health = HealthClient::new(layered(channel, None));
    let request = HealthCheckRequest { service: "orders".to_owned() };
    let call = health.check(request);
    let status = of_level(Criticality::Internal).scope(call).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unimplemented);
    let seen = seen.lock();
    assert_eq!(seen.len(), 2);
    for (headers, body) in &*seen {
        assert!(body.ends_with(b"orders"));
        assert_eq!(
            (&headers["rpc-caller"], &headers["x-plimsoll-criticality"]),
            (&"me".parse().unwrap(), &"4".parse().unwrap())
        );
        assert!(headers["grpc-timeout"].to_str().unwrap().ends_with('u'));
        assert!(!headers.contains_key("x-plimsoll-deadline-ms"));
    }
}

#[tokio::test]
async fn a_call_kept_back_is_a_status_for_tonic() {
    let (address, seen) = callee(usize::MAX).await;
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    let layer = ClientLayer::new("me").unwrap().level(Criticality::Internal);
    let mut health = HealthClient::new(ServiceBuilder::new().layer(layer.clone()).service(channel));
    for _ in 0..100 {
        let status = health.check(HealthCheckRequest::default()).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::ResourceExhausted, "{status:?}");
    }
    let figures = layer.figures();
    assert_eq!(figures.sent as usize, seen.lock().len());
    assert!(figures.held_back > 50, "{figures:?}");
}

#[tokio::test]
async fn a_call_for_which_nobody_waits_is_not_sent() {
    let (address, seen) = callee(0).await;
    let client = HyperClient::builder(TokioExecutor::new()).build_http();
    let request = Request::get(format!("http://{address}/")).body(Full::new(Bytes::new())).unwrap();
    let over = Context { deadline: Some(Instant::now()), ..of_level(Criticality::CoreFlow) };
    let mut service = layered(client, None);
    let call = async { service.ready().await?.call(request).await };
    let error: BoxError = over.scope(call).await.unwrap_err();
    assert_eq!(error.downcast_ref::<NotSent>().unwrap().why(), Why::Expired);
    assert!(seen.lock().is_empty());
}
