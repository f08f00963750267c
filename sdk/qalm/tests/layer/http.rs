//! HTTP: what is admitted passes unchanged, what is not is answered, and places
//! come back whatever happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::{any, get, post};
use http::StatusCode;
use plimsoll_qalm::{Context, QalmLayer};
use tokio::sync::Semaphore;

use crate::harness::*;

/// `/held` answers when the semaphore lets it.
fn held(layer: &QalmLayer, gate: Arc<Semaphore>) -> Router {
    let handler = move || {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.map_or("closed", |permit| {
                permit.forget();
                "done"
            })
        }
    };
    Router::new().route("/held", any(handler)).layer(layer.clone())
}

#[tokio::test]
async fn what_is_admitted_passes_unchanged() {
    let layer = QalmLayer::new();
    let echo = Router::new().route("/echo", post(|body: String| async move { body }));
    let server = serve(echo.layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    let response = client.send_request(with_body("POST", "/echo", "hello")).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header(&response, "content-length"), "5", "the length of the body is known");
    assert_eq!(text(response).await, "hello");
    until(|| inflight(&layer) == 0).await;
}

#[tokio::test]
async fn a_request_waits_for_its_turn_and_gets_it() {
    let (layer, gate) = (layer_with(1, 10), Arc::new(Semaphore::new(0)));
    let server = serve(held(&layer, Arc::clone(&gate))).await;
    let (mut first, mut second) = (connect1(server.address).await, connect1(server.address).await);
    let first = tokio::spawn(async move { first.send_request(request("GET", "/held")).await });
    until(|| inflight(&layer) == 1).await;
    let second = tokio::spawn(async move { second.send_request(request("GET", "/held")).await });
    until(|| waiting(&layer) == 1).await;
    gate.add_permits(2);
    for response in [first, second] {
        assert_eq!(text(in_time(response).await.unwrap().unwrap()).await, "done");
    }
    until(|| inflight(&layer) + waiting(&layer) == 0).await;
}

#[tokio::test]
async fn a_request_for_which_there_is_no_room_is_told_why() {
    let (layer, gate) = (layer_with(1, 1), Arc::new(Semaphore::new(0)));
    let server = serve(held(&layer, Arc::clone(&gate))).await;
    let client = connect2(server.address).await;
    let send = |level: &'static str| {
        let (mut client, mut request) = (client.clone(), request("GET", "/held"));
        request.headers_mut().insert("x-plimsoll-criticality", level.parse().unwrap());
        tokio::spawn(async move { client.send_request(request).await.unwrap() })
    };
    let running = send("3");
    until(|| inflight(&layer) == 1).await;
    let waits = send("3");
    until(|| waiting(&layer) == 1).await;
    let refused = in_time(send("4")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(["overload", "queue_full"].contains(&header(&refused, "x-shed-reason")));
    assert!(header(&refused, "retry-after").parse::<u64>().unwrap() >= 1);
    assert!(header(&refused, "retry-after-ms").parse::<u64>().is_ok());
    assert!(["1", "2", "3", "4"].contains(&header(&refused, "x-shed-level")));
    assert!(text(refused).await.starts_with("shed: "));
    gate.add_permits(2);
    let (running, waits) = (in_time(running).await.unwrap(), in_time(waits).await.unwrap());
    assert_eq!(running.status(), StatusCode::OK);
    assert!(waits.status() == StatusCode::OK || !header(&waits, "x-shed-reason").is_empty());
}

#[tokio::test]
async fn a_request_past_its_deadline_is_answered_as_expired() {
    let (layer, gate) = (layer_with(1, 10), Arc::new(Semaphore::new(0)));
    let server = serve(held(&layer, Arc::clone(&gate))).await;
    let client = connect2(server.address).await;
    let mut first = client.clone();
    let running = tokio::spawn(async move { first.send_request(request("GET", "/held")).await });
    until(|| inflight(&layer) == 1).await;
    let mut late = request("GET", "/held");
    late.headers_mut().insert("x-plimsoll-deadline-ms", "30".parse().unwrap());
    let expired = in_time(client.clone().send_request(late)).await.unwrap();
    assert_eq!(expired.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(header(&expired, "x-shed-reason"), "expired");
    gate.add_permits(1);
    assert_eq!(in_time(running).await.unwrap().unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_its_place_and_its_place_in_the_queue() {
    let (layer, gate) = (layer_with(1, 10), Arc::new(Semaphore::new(0)));
    let server = serve(held(&layer, gate)).await;
    let (mut first, mut second) = (connect1(server.address).await, connect1(server.address).await);
    let first = tokio::spawn(async move { first.send_request(request("GET", "/held")).await });
    until(|| inflight(&layer) == 1).await;
    let second = tokio::spawn(async move { second.send_request(request("GET", "/held")).await });
    until(|| waiting(&layer) == 1).await;
    second.abort();
    until(|| waiting(&layer) == 0).await;
    assert_eq!(inflight(&layer), 1, "the one that runs goes on");
    first.abort();
    until(|| inflight(&layer) == 0).await;
    let page = layer.debug().json();
    assert!(page.contains("\"verdict\":\"admitted\""), "{page}");
}

#[tokio::test]
async fn a_handler_that_panics_gives_its_place_back() {
    let layer = layer_with(1, 10);
    async fn panics() -> &'static str {
        panic!("on purpose")
    }
    let router = Router::new().route("/panics", get(panics)).layer(layer.clone());
    let server = serve(router).await;
    for _ in 0..3 {
        let mut client = connect1(server.address).await;
        assert!(in_time(client.send_request(request("GET", "/panics"))).await.is_err());
    }
    until(|| inflight(&layer) == 0).await;
}

#[tokio::test]
async fn answers_without_a_body_free_their_place_at_once() {
    let layer = layer_with(1, 10);
    let router = Router::new()
        .route("/none", get(|| async { StatusCode::NO_CONTENT }))
        .route("/some", get(|| async { "some" }))
        .route("/fails", get(|| async { (StatusCode::INTERNAL_SERVER_ERROR, "no") }));
    let server = serve(router.layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    for (method, path) in [("GET", "/none"), ("HEAD", "/some"), ("GET", "/fails"), ("GET", "/some")]
    {
        let response = in_time(client.send_request(request(method, path))).await.unwrap();
        let _body = text(response).await;
        until(|| inflight(&layer) == 0).await;
    }
}

#[tokio::test]
async fn the_handler_knows_the_level_it_was_admitted_at() {
    async fn tell() -> String {
        Context::current().map_or_else(String::new, |context| context.level.to_string())
    }
    let server = serve(Router::new().route("/", get(tell)).layer(QalmLayer::new())).await;
    let mut client = connect1(server.address).await;
    for (asked, had) in [("1", "3"), ("4", "4"), ("nonsense", "3")] {
        let mut request = request("GET", "/");
        request.headers_mut().insert("x-plimsoll-criticality", asked.parse().unwrap());
        let response = in_time(client.send_request(request)).await.unwrap();
        assert_eq!(text(response).await, had, "asked for {asked}");
    }
}

#[tokio::test]
async fn health_is_answered_when_everything_else_is_refused() {
    let layer = layer_with(1, 1);
    let ok = || async { "ok" };
    let router = Router::new().route("/healthz", get(ok)).route("/work", get(ok));
    let server = serve(router.layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    layer.shut_down();
    let work = in_time(client.send_request(request("GET", "/work"))).await.unwrap();
    assert_eq!(header(&work, "x-shed-reason"), "shutting_down");
    let _body = text(work).await;
    let health = in_time(client.send_request(request("GET", "/healthz"))).await.unwrap();
    assert_eq!(text(health).await, "ok");
}

#[tokio::test]
async fn paths_that_somebody_makes_up_get_no_queues() {
    let layer = QalmLayer::new();
    let known = Router::new().route("/users/{id}", get(|| async { "user" }));
    let server = serve(known.layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    for number in 0..50 {
        for path in [format!("/users/{number}"), format!("/made/up-{number}x")] {
            let response = in_time(client.send_request(request("GET", &path))).await.unwrap();
            let _body = text(response).await;
        }
    }
    let names: Vec<String> =
        layer.gate().queues().iter().map(|queue| queue.name.to_string()).collect();
    assert_eq!(names, ["(other)", "GET /users/{id}"]);
}

#[tokio::test]
async fn clones_of_a_layer_share_their_limits() {
    let (layer, gate) = (layer_with(1, 10), Arc::new(Semaphore::new(0)));
    let (one, two) = (held(&layer, Arc::clone(&gate)), held(&layer, Arc::clone(&gate)));
    let (one, two) = (serve(one).await, serve(two).await);
    let (mut first, mut second) = (connect1(one.address).await, connect1(two.address).await);
    let first = tokio::spawn(async move { first.send_request(request("GET", "/held")).await });
    until(|| inflight(&layer) == 1).await;
    let second = tokio::spawn(async move { second.send_request(request("GET", "/held")).await });
    until(|| waiting(&layer) == 1).await;
    gate.add_permits(2);
    assert!(in_time(first).await.unwrap().is_ok() && in_time(second).await.unwrap().is_ok());
}

#[tokio::test]
async fn readiness_does_not_depend_on_load() {
    use tower::{Layer, Service, ServiceExt};
    let (layer, calls) = (layer_with(1, 10), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&calls);
    let inner = tower::service_fn(move |_: http::Request<axum::body::Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<http::Response<axum::body::Body>, std::convert::Infallible>>()
    });
    let mut service = layer.layer(inner);
    let mut futures = Vec::new();
    for _ in 0..5 {
        let ready = in_time(service.ready()).await.unwrap();
        futures.push(ready.call(http::Request::new(axum::body::Body::empty())));
    }
    assert_eq!((calls.load(Ordering::Relaxed), waiting(&layer)), (1, 4));
    drop(futures);
    assert_eq!((inflight(&layer), waiting(&layer)), (0, 0));
    tokio::time::timeout(Duration::from_secs(1), service.ready()).await.unwrap().unwrap();
}
