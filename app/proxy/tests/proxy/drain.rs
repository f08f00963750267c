//! How the proxy leaves.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::support::{
    Service, connect, full, http2, page, post, proxy, proxy_with, read_to_end, read_until, soon,
    text,
};

/// A service that answers once `gate` lets it.
async fn gated(gate: &Arc<Semaphore>) -> Service {
    let gate = gate.clone();
    Service::start(move |_: Request<Incoming>| {
        let gate = gate.clone();
        async move {
            drop(gate.acquire().await.unwrap());
            Response::new(full("done"))
        }
    })
    .await
}

async fn until_refused(address: std::net::SocketAddr) {
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_is_in_progress_comes_to_its_end_and_nothing_new_begins() {
    let gate = Arc::new(Semaphore::new(0));
    let service = gated(&gate).await;
    let proxy = proxy(service.address).await;
    let listen = proxy.listen;
    let (mut two, task) = http2(listen).await;
    let mut one = connect(listen).await;
    one.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let answer = tokio::spawn(two.send_request(post("/", "")));
    // Both have reached the service.
    while service.connections() < 2 {
        tokio::task::yield_now().await;
    }
    let stopping = tokio::spawn(proxy.stop(std::future::pending()));
    soon(until_refused(listen)).await;
    gate.add_permits(2);
    assert_eq!(text(soon(answer).await.unwrap().unwrap()).await, "done");
    let said = read_to_end(&mut one).await;
    assert!(said.contains("connection: close\r\n") && said.ends_with("done"), "{said}");
    assert_eq!(soon(stopping).await.unwrap().cut, 0);
    soon(task).await.unwrap().unwrap();
}

#[tokio::test]
async fn idle_connections_are_closed_at_once() {
    let service = Service::echo().await;
    let proxy = proxy(service.address).await;
    let mut used = connect(proxy.listen).await;
    used.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    read_until(&mut used, "\r\n\r\n").await;
    let mut unused = connect(proxy.listen).await;
    let started = Instant::now();
    let drained = soon(proxy.stop(std::future::pending())).await;
    assert_eq!(drained.cut, 0);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(
        (read_to_end(&mut used).await, read_to_end(&mut unused).await),
        (String::new(), String::new())
    );
}

#[tokio::test]
async fn a_stream_that_ends_in_time_is_not_cut() {
    let (tell, told) = mpsc::unbounded_channel::<&'static str>();
    let told = Arc::new(parking_lot::Mutex::new(Some(told)));
    let service = Service::start(move |_: Request<Incoming>| {
        let told = told.lock().take().unwrap();
        async move {
            let frames = UnboundedReceiverStream::new(told);
            let frames = frames.map(|text| Ok(Frame::data(Bytes::from(text))));
            Response::new(StreamBody::new(frames).boxed_unsync())
        }
    })
    .await;
    let proxy = proxy(service.address).await;
    let listen = proxy.listen;
    let (mut client, _task) = http2(listen).await;
    let mut answer = soon(client.send_request(post("/", ""))).await.unwrap();
    tell.send("before").unwrap();
    let frame = soon(answer.frame()).await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "before");
    let stopping = tokio::spawn(proxy.stop(std::future::pending()));
    soon(until_refused(listen)).await;
    tell.send("after").unwrap();
    drop(tell);
    assert_eq!(text(answer).await, "after");
    assert_eq!(soon(stopping).await.unwrap().cut, 0);
}

#[tokio::test]
async fn a_request_is_ended_at_the_deadline_and_told_why() {
    let service = gated(&Arc::new(Semaphore::new(0))).await;
    let proxy = proxy_with(service.address, |settings| {
        settings.drain.deadline = Duration::from_millis(200);
    })
    .await;
    let mut client = connect(proxy.listen).await;
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    while service.connections() < 1 {
        tokio::task::yield_now().await;
    }
    let drained = soon(proxy.stop(std::future::pending())).await;
    assert_eq!(drained.cut, 1);
    let answer = read_to_end(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("x-proxy-reason: leaving\r\n"), "{answer}");
}

#[tokio::test]
async fn a_second_signal_does_not_wait_for_the_deadline() {
    let service = gated(&Arc::new(Semaphore::new(0))).await;
    let proxy = proxy_with(service.address, |settings| {
        settings.drain.deadline = Duration::from_secs(3600);
    })
    .await;
    let mut client = connect(proxy.listen).await;
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    while service.connections() < 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(soon(proxy.stop(std::future::ready(()))).await.cut, 1);
}

#[tokio::test]
async fn it_serves_on_while_others_are_told_that_it_leaves() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| {
        settings.drain.delay = Duration::from_secs(3600);
    })
    .await;
    assert!(page(&proxy, "/readyz").await.starts_with("HTTP/1.1 200 "));
    let (listen, metrics) = (proxy.listen, proxy.metrics.unwrap());
    let (hurry, hurried) = tokio::sync::oneshot::channel::<()>();
    let stopping = tokio::spawn(proxy.stop(async move { drop(hurried.await) }));
    let ready = "GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    while !crate::support::say(metrics, ready).await.starts_with("HTTP/1.1 503 ") {
        tokio::task::yield_now().await;
    }
    let (mut client, _task) = http2(listen).await;
    let answer = soon(client.send_request(post("/", "hi"))).await.unwrap();
    assert_eq!(text(answer).await, "hi");
    hurry.send(()).unwrap();
    soon(stopping).await.unwrap();
}
