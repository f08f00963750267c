//! Callers that mean harm: they make up names and paths, spell them oddly, send and
//! read slowly, and say of themselves what they may not.

use std::convert::Infallible;
use std::fs;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use bytes::Bytes;
use http::{HeaderMap, Request, Version};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use plimsoll_qalm::shedding::Criticality;
use plimsoll_qalm::shedding::policy::{Group, Policy, QueueOverrides, Rule};
use plimsoll_qalm::shedding::settings::Auto;
use plimsoll_qalm::{Context, QalmLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower::{Layer, Service, ServiceExt};

use crate::harness::*;

fn level() -> String {
    Context::current().map_or_else(|| "bypassed".to_owned(), |it| it.level.to_string())
}

/// Answers every path with the level at which it was admitted.
fn catch_all(
    layer: &QalmLayer,
) -> impl Service<Request<Body>, Response = Answer, Error = Infallible> + Clone + use<> {
    let service = tower::service_fn(async |_: Request<Body>| {
        Ok::<_, Infallible>(http::Response::new(Body::from(level())))
    });
    layer.layer(service)
}

type Answer = http::Response<plimsoll_qalm::layer::QalmBody<Body>>;

async fn ask<S>(service: &S, request: Request<Body>) -> String
where
    S: Service<Request<Body>, Response = Answer, Error = Infallible> + Clone,
{
    let answer = in_time(service.clone().oneshot(request)).await.unwrap();
    let body = axum::body::to_bytes(Body::new(answer.into_body()), 1 << 10).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

fn to(method: &str, path: &str) -> Request<Body> {
    Request::builder().method(method).uri(path).body(Body::empty()).unwrap()
}

/// As gRPC writes it, and as it comes over HTTP/2.
fn grpc_to(path: &str) -> Request<Body> {
    let mut request = to("POST", path);
    *request.version_mut() = Version::HTTP_2;
    request.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    request
}

fn endpoint_rule(endpoint: &str, level: u8) -> Rule {
    Rule {
        endpoint: Some(endpoint.to_owned()),
        criticality: Criticality::from_level(level),
        ..Rule::default()
    }
}

fn group(name: &str, endpoint: &str, concurrency: Auto<u32>) -> Group {
    Group {
        name: name.to_owned(),
        endpoints: vec![endpoint.to_owned()],
        each: false,
        enforcement: None,
        queue: QueueOverrides { concurrency: Some(concurrency), ..QueueOverrides::default() },
    }
}

fn layer_of(rules: Vec<Rule>) -> QalmLayer {
    QalmLayer::builder().build_with(&Policy { rules, ..Policy::default() }).unwrap()
}

/// A name without anything that is masked.
fn word(number: usize) -> String {
    [number / 676, number / 26 % 26, number % 26]
        .map(|it| char::from(b'a' + it as u8))
        .iter()
        .collect()
}

#[tokio::test]
async fn made_up_paths_take_nothing_from_what_the_policy_describes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qalm.toml");
    let rules = |level: u8| {
        format!(
            "[[rules]]\nendpoint = \"/seen/*\"\ncriticality = {level}\n\
             [[rules]]\nendpoint = \"/new/*\"\ncriticality = 1\n"
        )
    };
    fs::write(&path, rules(2)).unwrap();
    let layer = QalmLayer::from_file(&path).unwrap();
    let service = catch_all(&layer);
    assert_eq!(ask(&service, to("GET", "/seen/x")).await, "2");
    for number in 0..1100 {
        ask(&service, to("GET", &format!("/{}", word(number)))).await;
    }
    let queues = layer.gate().queues().len();
    assert!((1000..=1005).contains(&queues), "{queues} queues: made-up paths are bounded");
    assert_eq!(ask(&service, to("GET", "/new/x")).await, "1");
    assert_eq!(ask(&service, grpc_to("/new/Call")).await, "1");
    assert_eq!(ask(&service, to("GET", "/healthz")).await, "bypassed");
    fs::write(&path, rules(4)).unwrap();
    in_time(async {
        while ask(&service, to("GET", "/seen/x")).await != "4" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(ask(&service, to("GET", "/new/x")).await, "1");
    assert_eq!(ask(&service, to("GET", "/healthz")).await, "bypassed");
}

#[tokio::test]
async fn a_path_beyond_the_bound_costs_no_more_than_one_within_it() {
    let layer = QalmLayer::new();
    let service = catch_all(&layer);
    for number in 0..1001 {
        ask(&service, to("GET", &format!("/{}", word(number)))).await;
    }
    let allocated = |number: usize| {
        let request = to("GET", &format!("/{}", word(number)));
        let mut called = service.clone();
        allocation_counter::measure(move || {
            let answer = futures::FutureExt::now_or_never(called.call(request));
            assert!(answer.is_some_and(|answer| answer.is_ok()));
        })
        .bytes_total
    };
    let (known, beyond) = (allocated(7), allocated(1500));
    assert!(beyond < known + 1000, "{beyond} bytes against {known}: the directory is not copied");
}

#[tokio::test]
async fn a_path_means_the_same_however_it_is_spelled() {
    let service = catch_all(&layer_of(vec![endpoint_rule("/low/*", 4)]));
    for path in [
        "/low/x",
        "/%6cow/x",
        "//low/x",
        "/a/../low/x",
        "/grpc.health.v1.Health/../low/x",
        "/grpc.health.v1.Health/%2e%2e/low/x",
    ] {
        assert_eq!(ask(&service, to("POST", path)).await, "4", "{path}");
    }
    for path in ["//healthz", "/%68ealthz", "/grpc.health.v1.Health/..%2flow%2fx"] {
        assert_eq!(ask(&service, to("GET", path)).await, "3", "{path}");
    }
    assert_eq!(ask(&service, to("GET", "/healthz")).await, "bypassed");
}

#[tokio::test]
async fn a_content_type_raises_no_level_and_leaves_no_group() {
    let policy = Policy {
        rules: vec![endpoint_rule("POST /batch/*", 4), endpoint_rule("/svc.S/*", 2)],
        groups: vec![group("batches", "POST /batch/*", Auto::Auto)],
        ..Policy::default()
    };
    let layer = QalmLayer::builder().build_with(&policy).unwrap();
    let service = catch_all(&layer);
    for version in [Version::HTTP_11, Version::HTTP_2] {
        for path in ["/batch/x", "/batch/y", "/other/z"] {
            let mut request = grpc_to(path);
            *request.version_mut() = version;
            let level = if path == "/other/z" { "3" } else { "4" };
            assert_eq!(ask(&service, request).await, level, "{path} {version:?}");
        }
    }
    assert_eq!(ask(&service, grpc_to("/svc.S/Call")).await, "2");
    let names: Vec<String> = layer.gate().queues().iter().map(|it| it.name.to_string()).collect();
    assert!(names.iter().any(|name| name == "batches"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("/batch/x")), "{names:?}");
}

#[tokio::test]
async fn a_grpc_method_that_answers_keeps_the_level_of_its_http_name() {
    let layer = layer_of(vec![endpoint_rule("POST /svc.S/*", 4), endpoint_rule("/svc.S/Call", 2)]);
    let service = layer.layer(tower::service_fn(async |_: Request<Body>| {
        let answer = http::Response::builder().header("content-type", "application/grpc");
        Ok::<_, Infallible>(answer.body(Body::from(level())).unwrap())
    }));
    for _ in 0..3 {
        assert_eq!(ask(&service, grpc_to("/svc.S/Other")).await, "4");
        assert_eq!(ask(&service, grpc_to("/svc.S/Call")).await, "2");
    }
    let names: Vec<String> = layer.gate().queues().iter().map(|it| it.name.to_string()).collect();
    assert!(names.iter().any(|name| name == "/svc.S/Other"), "{names:?}");
}

#[tokio::test]
async fn no_group_has_the_queue_of_the_rest() {
    let groups = vec![group("other", "/x", Auto::Fixed(1))];
    let policy = Policy { groups, ..Policy::default() };
    let layer = QalmLayer::builder().build_with(&policy).unwrap();
    let service = catch_all(&layer);
    ask(&service, to("GET", "/x")).await;
    ask(&service, to("GET", "/y")).await;
    let limits: Vec<(String, u32)> =
        layer.gate().queues().iter().map(|it| (it.name.to_string(), it.view.limit)).collect();
    assert_eq!(limits.iter().filter(|(name, _)| name == "other").count(), 1);
    let rest = limits.iter().find(|(name, _)| name == "(other)").unwrap();
    assert!(rest.1 > 1, "{limits:?}");
}

#[tokio::test]
async fn the_handler_is_told_what_holds_and_not_what_was_said() {
    let low = Rule {
        caller: Some("low".to_owned()),
        criticality: Some(Criticality::Internal),
        ..Rule::default()
    };
    let mut policy = Policy { rules: vec![low], ..Policy::default() };
    policy.trust.cohort = false;
    policy.trust.deadline = false;
    let strict = QalmLayer::builder().build_with(&policy).unwrap();
    policy.trust = Default::default();
    let trusting = QalmLayer::builder().build_with(&policy).unwrap();
    let told = async |layer: &QalmLayer| {
        let service = layer.layer(tower::service_fn(async |request: Request<Body>| {
            let context = Context::current().unwrap();
            let headers: &HeaderMap = request.headers();
            let word =
                |name: &str| headers.get(name).map_or("-", |it| it.to_str().unwrap()).to_owned();
            assert_eq!(word("x-plimsoll-cohort"), context.cohort.number().to_string());
            let words = ["x-plimsoll-criticality", "x-plimsoll-cohort", "x-plimsoll-deadline-ms"];
            let text = words.map(word).join(" ");
            Ok::<_, Infallible>(http::Response::new(Body::from(text)))
        }));
        let mut request = to("GET", "/");
        for (name, value) in [
            ("rpc-caller", "low"),
            ("x-plimsoll-criticality", "1"),
            ("x-plimsoll-cohort", "77"),
            ("x-plimsoll-deadline-ms", "5000"),
        ] {
            request.headers_mut().append(name, value.parse().unwrap());
        }
        let text = ask(&service, request).await;
        text.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let strict = told(&strict).await;
    assert_eq!((strict[0].as_str(), strict[2].as_str()), ("4", "-"));
    assert_ne!(strict[1], "77");
    let trusting = told(&trusting).await;
    assert_eq!((trusting[0].as_str(), trusting[1].as_str()), ("4", "77"));
    let left: u64 = trusting[2].parse().unwrap();
    assert!((4000..5000).contains(&left), "{left} ms are left");
}

#[tokio::test]
async fn whoever_does_not_read_holds_no_place() {
    let pieces = || {
        let piece = || Ok::<_, Infallible>(Bytes::from(vec![1; 20_000]));
        Body::from_stream(futures::stream::iter((0..40).map(move |_| piece())))
    };
    for length in [None, Some("800000")] {
        let layer = layer_with(4, 100);
        let answer = move || async move {
            let mut headers = HeaderMap::new();
            length.map(|length| headers.insert("content-length", length.parse().unwrap()));
            (headers, pieces())
        };
        let server = serve(Router::new().route("/", get(answer)).layer(layer.clone())).await;
        let io = TokioIo::new(TcpStream::connect(server.address).await.unwrap());
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(0);
        let (mut client, connection) = builder.handshake(io).await.unwrap();
        tokio::spawn(connection);
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(in_time(client.send_request(request("GET", "/"))).await.unwrap());
        }
        assert_eq!(inflight(&layer), 4, "nobody has read anything");
        until(|| inflight(&layer) == 0).await;
        let mut reader = connect1(server.address).await;
        let response = in_time(reader.send_request(request("GET", "/"))).await.unwrap();
        assert_eq!(text(response).await.len(), 800_000, "whoever reads is answered");
    }
}

#[tokio::test]
async fn whoever_does_not_send_holds_no_place() {
    let layer = layer_with(8, 100);
    let upload = post(|body: Bytes| async move { body.len().to_string() });
    let server = serve(Router::new().route("/", upload).layer(layer.clone())).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nx";
        stream.write_all(head).await.unwrap();
        slow.push(stream);
    }
    until(|| inflight(&layer) == 8).await;
    until(|| inflight(&layer) == 0).await;
    let mut client = connect1(server.address).await;
    let response = in_time(client.send_request(with_body("POST", "/", "quick"))).await.unwrap();
    assert_eq!(text(response).await, "5");
    let mut stream = slow.pop().unwrap();
    stream.write_all(b"yz").await.unwrap();
    let mut answer = [0; 15];
    in_time(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK", "the slow one is answered all the same");
}

#[tokio::test]
async fn who_expects_to_be_asked_for_a_body_is_refused_at_once() {
    let layer = QalmLayer::new();
    let upload = post(|_: Bytes| async { "ok" });
    let server = serve(Router::new().route("/", upload).layer(layer.clone())).await;
    layer.shut_down();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 50000\r\n\
                 expect: 100-continue\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let mut answer = [0; 12];
    in_time(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503", "and not 100 Continue");
}
