//! QALM in front of the service: what it refuses, the service never sees, and the
//! connections that it is refused on stay open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use plimsoll_proxy::{Bound, Proxy, Settings};
use plimsoll_qalm::QalmLayer;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use crate::support::{
    Service, connect, full, http2, nowhere, page, post, read_until, say, soon, text,
};

/// One request at a time, and one that waits.
const TIGHT: &str = "default_criticality = 4\n[queue]\nconcurrency = 1\nmax_queue = 1\n";

/// A proxy that follows a policy file, and the folder that the file is in.
async fn shedding(upstream: SocketAddr, policy: &str) -> (Proxy, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let listen: SocketAddr = ([127, 0, 0, 1], 0).into();
    let mut settings = Settings::new(listen, upstream.to_string().parse().unwrap());
    settings.metrics = Some(listen);
    let layer = QalmLayer::from_file(file).unwrap();
    (Bound::new(settings).await.unwrap().serve_shedding(layer).unwrap(), folder)
}

/// A service that is busy until `gate` lets go, and how many requests it got.
async fn busy(gate: &Arc<Semaphore>) -> (Service, Arc<AtomicUsize>) {
    let (gate, seen) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let count = seen.clone();
    let service = Service::start(move |_: Request<Incoming>| {
        let (gate, count) = (gate.clone(), count.clone());
        async move {
            count.fetch_add(1, Ordering::Relaxed);
            drop(gate.acquire().await.unwrap());
            Response::new(full("done"))
        }
    })
    .await;
    (service, seen)
}

#[tokio::test]
async fn a_hundred_thousand_refusals_leave_both_connections_open() {
    const CALLS: usize = 100_000;
    let gate = Arc::new(Semaphore::new(0));
    let (service, seen) = busy(&gate).await;
    let (proxy, _folder) = shedding(service.address, TIGHT).await;
    let flying = Arc::new(Semaphore::new(256));
    let connections = [http2(proxy.listen).await, http2(proxy.listen).await];
    let mut calls = tokio::task::JoinSet::new();
    let mut refused = 0;
    for n in 0..CALLS {
        let place = flying.clone().acquire_owned().await.unwrap();
        let mut client = connections[n % 2].0.clone();
        calls.spawn(async move {
            let answer = client.send_request(post("/", "a small body")).await.unwrap();
            drop(place);
            answer.headers().get("x-shed-reason").map(|_| answer.status())
        });
        while let Some(done) = calls.try_join_next() {
            let status = done.unwrap().expect("nothing is served before the gate opens");
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
            refused += 1;
        }
    }
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    gate.add_permits(1);
    while let Some(done) = soon(calls.join_next()).await {
        refused += usize::from(done.unwrap().is_some());
    }
    // What is not refused: the one that is handled and the one that waits.
    assert!(refused >= CALLS - 2, "{refused} refused");
    for (client, task) in &connections {
        assert!(!task.is_finished());
        let answer = soon(client.clone().send_request(post("/", ""))).await.unwrap();
        assert_eq!(text(answer).await, "done");
    }
}

#[tokio::test]
async fn a_grpc_caller_is_told_to_hold_back() {
    let gate = Arc::new(Semaphore::new(0));
    let (service, seen) = busy(&gate).await;
    let group = "[[groups]]\nname = \"calls\"\nendpoints = [\"/pkg.Service/*\"]\n";
    let (proxy, _folder) = shedding(service.address, &format!("{TIGHT}{group}")).await;
    let (client, _task) = http2(proxy.listen).await;
    let call = || {
        let mut request = post("/pkg.Service/Method", "");
        let media = "application/grpc".parse().unwrap();
        request.headers_mut().insert("content-type", media);
        client.clone().send_request(request)
    };
    let _first = tokio::spawn(call());
    while seen.load(Ordering::Relaxed) < 1 {
        tokio::task::yield_now().await;
    }
    // One of two more can wait; the other is refused.
    let (refused, _waiting) =
        soon(futures::future::select_ok([call(), call()].map(Box::pin))).await.unwrap();
    assert_eq!(refused.headers()["grpc-status"], "8");
    assert!(refused.headers().contains_key("grpc-retry-pushback-ms"));
    assert!(!refused.headers().contains_key("x-proxy-reason"));
    let debug = page(&proxy, "/debug").await;
    assert!(debug.contains("\ncalls  "), "{debug}");
    let metrics = page(&proxy, "/metrics").await;
    assert!(metrics.contains("qalm_requests_total{"), "{metrics}");
    assert!(metrics.contains("plimsoll_proxy_requests_in_flight 1\n"), "{metrics}");
}

#[tokio::test]
async fn an_upload_that_does_not_come_along_gives_its_place_back() {
    let service = Service::echo().await;
    let (proxy, _folder) = shedding(service.address, TIGHT).await;
    let mut slow = connect(proxy.listen).await;
    let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    slow.write_all(head.as_bytes()).await.unwrap();
    let places = async || page(&proxy, "/debug?format=json").await.contains("\"inflight\":1");
    soon(async { while !places().await {} }).await;
    let (client, _task) = http2(proxy.listen).await;
    // Refused while the upload has the only place.
    let served = async || {
        let answer = client.clone().send_request(post("/", "quick")).await.unwrap();
        answer.status() == StatusCode::OK
    };
    soon(async { while !served().await {} }).await;
    // It goes on without a place, and is answered when it is whole.
    slow.write_all(b"2\r\nde\r\n0\r\n\r\n").await.unwrap();
    let answer = soon(read_until(&mut slow, "abcde")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn an_edit_of_the_policy_takes_effect_while_it_runs() {
    let service = Service::echo().await;
    let (proxy, folder) = shedding(service.address, "default_criticality = 3\n").await;
    let ask = "/debug?format=json";
    let version = async || {
        let debug = page(&proxy, ask).await;
        debug.split("\"version\":\"").nth(1).unwrap()[..16].to_owned()
    };
    let before = version().await;
    std::fs::write(folder.path().join("policy.toml"), "default_criticality = 4\n").unwrap();
    soon(async {
        while version().await == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_service_that_is_down_is_not_mistaken_for_overload() {
    let (proxy, _folder) = shedding(nowhere().await, TIGHT).await;
    let asks = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    for _ in 0..20 {
        let answer = say(proxy.listen, asks).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(!answer.contains("x-shed-reason"), "{answer}");
    }
}

#[tokio::test]
async fn who_waits_in_a_queue_at_the_deadline_is_told_so() {
    let (service, seen) = busy(&Arc::new(Semaphore::new(0))).await;
    let policy = "default_criticality = 1\n[queue]\nconcurrency = 1\n";
    let (proxy, _folder) = shedding(service.address, policy).await;
    let (mut client, _task) = http2(proxy.listen).await;
    let handled = tokio::spawn(client.send_request(post("/", "")));
    while seen.load(Ordering::Relaxed) < 1 {
        tokio::task::yield_now().await;
    }
    let waiting = tokio::spawn(client.send_request(post("/", "")));
    while !page(&proxy, "/metrics").await.contains("plimsoll_proxy_requests_in_flight 1\n") {
        tokio::task::yield_now().await;
    }
    assert_eq!(soon(proxy.stop(std::future::ready(()))).await.cut, 1);
    let handled = soon(handled).await.unwrap().unwrap();
    assert_eq!(handled.headers()["x-proxy-reason"], "leaving");
    if let Ok(answer) = soon(waiting).await.unwrap() {
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
