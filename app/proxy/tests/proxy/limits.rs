//! What is too large, too slow or too much.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{
    Service, connect, full, http2, post, proxy_with, read_to_end, say, soon, text,
};

async fn limited(body: u64) -> (Service, plimsoll_proxy::Proxy) {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| settings.limits.body = Some(body)).await;
    (service, proxy)
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_unread() {
    let (service, proxy) = limited(10).await;
    let head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 11\r\n\r\n";
    let answer = say(proxy.listen, &format!("{head}0123456789a")).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("x-proxy-reason: body-too-large\r\n"), "{answer}");
    assert_eq!(service.connections(), 0);
}

#[tokio::test]
async fn a_body_that_turns_out_too_large_is_refused() {
    let (_service, proxy) = limited(10).await;
    let head =
        "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer =
        say(proxy.listen, &format!("{head}8\r\n01234567\r\n8\r\n01234567\r\n0\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let exact = say(proxy.listen, &format!("{head}8\r\n01234567\r\n2\r\n01\r\n0\r\n\r\n")).await;
    assert!(exact.starts_with("HTTP/1.1 200 "), "{exact}");
}

#[tokio::test]
async fn the_same_over_http_2_leaves_the_connection_open() {
    let (_service, proxy) = limited(10).await;
    let (mut client, _task) = http2(proxy.listen).await;
    let chunks = ["01234567", "01234567"].map(|chunk| Ok(Frame::data(Bytes::from(chunk))));
    let chunked = StreamBody::new(futures::stream::iter(chunks)).boxed_unsync();
    let request = Request::post("http://a/").body(chunked).unwrap();
    let answer = soon(client.send_request(request)).await.unwrap();
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let answer = soon(client.send_request(post("/", "0123456789"))).await.unwrap();
    assert_eq!(text(answer).await, "0123456789");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused_in_both_versions() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| settings.limits.head = 8192).await;
    let long = "a".repeat(9000);
    let answer =
        say(proxy.listen, &format!("GET / HTTP/1.1\r\nhost: a\r\nx: {long}\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let (mut client, _task) = http2(proxy.listen).await;
    let request = Request::get("http://a/").header("x", long).body(full("")).unwrap();
    let answer = soon(client.send_request(request)).await.unwrap();
    assert_eq!(answer.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
}

#[tokio::test]
async fn too_many_fields_are_refused() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| settings.limits.fields = 10).await;
    let fields: String = (0..20).map(|n| format!("x-{n}: 1\r\n")).collect();
    let answer = say(proxy.listen, &format!("GET / HTTP/1.1\r\nhost: a\r\n{fields}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_head_that_does_not_come_to_its_end_costs_the_connection() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| {
        settings.timeouts.header = Duration::from_millis(100);
    })
    .await;
    let started = tokio::time::Instant::now();
    let answer = say(proxy.listen, "GET / HTTP/1.1\r\nhost: a\r\n").await;
    assert_eq!(answer, "");
    assert!(started.elapsed() >= Duration::from_millis(100));
}

/// Each byte is a sign of life, which alone would hold a place in the service for
/// as long as the client likes.
#[tokio::test]
async fn a_body_that_drips_is_given_up() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| {
        settings.timeouts.first_byte = Duration::from_millis(300);
    })
    .await;
    let (mut read, mut write) = connect(proxy.listen).await.into_split();
    let head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 9000\r\n\r\n";
    write.write_all(head.as_bytes()).await.unwrap();
    let dripping = tokio::spawn(async move {
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut first = [0; 12];
    soon(read.read_exact(&mut first)).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 408");
    dripping.abort();
}

#[tokio::test]
async fn a_body_that_comes_at_its_pace_may_take_longer() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| {
        settings.timeouts.first_byte = Duration::from_millis(300);
    })
    .await;
    let mut client = connect(proxy.listen).await;
    let head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 20480\r\n\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..10 {
        client.write_all(&[b'x'; 2048]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(read_to_end(&mut client).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_connection_without_requests_is_closed_in_its_time() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| {
        settings.timeouts.idle = Duration::from_millis(200);
    })
    .await;
    let (mut client, task) = http2(proxy.listen).await;
    let answer = soon(client.send_request(post("/", "hi"))).await.unwrap();
    assert_eq!(text(answer).await, "hi");
    soon(task).await.unwrap().unwrap();
    let mut client = connect(proxy.listen).await;
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(read_to_end(&mut client).await.starts_with("HTTP/1.1 200 "));
}
