//! Services that are down, slow, or no services at all.

use std::time::Duration;

use http::StatusCode;
use tokio::net::TcpListener;

use crate::support::{http2, nowhere, post, proxy, proxy_with, say, scripted, soon, text};

const ASKS: &str = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

fn assert_answer(answer: &str, status: u16, reason: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains(&format!("x-proxy-reason: {reason}\r\n")), "{answer}");
    assert!(!answer.contains("x-shed-reason"), "{answer}");
    assert!(answer.contains("plimsoll proxy: "), "{answer}");
}

#[tokio::test]
async fn nobody_listens() {
    let proxy = proxy(nowhere().await).await;
    assert_answer(&say(proxy.listen, ASKS).await, 502, "upstream-refused");
    let (mut client, _task) = http2(proxy.listen).await;
    let answer = soon(client.send_request(post("/", "x"))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(answer.headers()["x-proxy-reason"], "upstream-refused");
}

#[tokio::test]
async fn the_name_is_unknown() {
    let proxy = proxy("http://no-such-host.invalid:80").await;
    assert_answer(&say(proxy.listen, ASKS).await, 502, "upstream-unreachable");
}

#[tokio::test]
async fn it_hangs_up_before_it_answers() {
    let (address, _read) = scripted("").await;
    let proxy = proxy(format!("http://{address}")).await;
    assert_answer(&say(proxy.listen, ASKS).await, 502, "upstream-lost");
}

#[tokio::test]
async fn it_speaks_no_http() {
    let (address, _read) = scripted("SSH-2.0-OpenSSH_9.2\r\n\r\n").await;
    let proxy = proxy(format!("http://{address}")).await;
    assert_answer(&say(proxy.listen, ASKS).await, 502, "upstream-protocol");
}

#[tokio::test]
async fn it_speaks_http_1_only() {
    let (address, _read) = scripted("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let proxy = proxy(format!("h2c://{address}")).await;
    let answer = say(proxy.listen, ASKS).await;
    assert_answer(&answer, 502, "upstream-protocol");
    assert!(answer.contains("http://HOST:PORT"), "{answer}");
}

#[tokio::test]
async fn it_takes_the_request_and_says_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for upstream in ["http", "h2c"] {
        let to = format!("{upstream}://{}", listener.local_addr().unwrap());
        let proxy = proxy_with(to, |settings| {
            settings.timeouts.first_byte = Duration::from_millis(100);
        })
        .await;
        assert_answer(&say(proxy.listen, ASKS).await, 504, "upstream-timeout");
    }
}

#[tokio::test]
async fn it_takes_the_connection_and_does_not_greet() {
    // The kernel takes it; nobody accepts it.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = proxy_with(format!("h2c://{}", listener.local_addr().unwrap()), |settings| {
        settings.timeouts.connect = Duration::from_millis(100);
    })
    .await;
    // Many at once wait for one connection, and not one after the other.
    let started = tokio::time::Instant::now();
    for answer in futures::future::join_all((0..50).map(|_| say(proxy.listen, ASKS))).await {
        assert_answer(&answer, 504, "upstream-connect-timeout");
    }
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_made_whole() {
    let (address, _read) = scripted("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
    let proxy = proxy(format!("http://{address}")).await;
    let (mut client, _task) = http2(proxy.listen).await;
    let answer = soon(client.send_request(post("/", ""))).await.unwrap();
    let body = soon(http_body_util::BodyExt::collect(answer.into_body())).await;
    assert!(body.is_err());
}

#[tokio::test]
async fn a_malformed_request_never_reaches_it() {
    let proxy = proxy(nowhere().await).await;
    for (asks, status, reason) in [
        ("GET / HTTP/1.1\r\nconnection: close\r\n\r\n", 400, "no-host"),
        ("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n", 400, "two-hosts"),
        ("GET / HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n", 400, "bad-host"),
        ("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\nconnection: close\r\n\r\n", 405, "connect"),
    ] {
        assert_answer(&say(proxy.listen, asks).await, status, reason);
    }
}

#[tokio::test]
async fn a_switch_that_nobody_asked_for_is_refused() {
    let answer = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n";
    let (address, _read) = scripted(answer).await;
    let proxy = proxy(format!("http://{address}")).await;
    let (mut client, _task) = http2(proxy.listen).await;
    let answer = soon(client.send_request(post("/", ""))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    assert!(text(answer).await.contains("plimsoll proxy"));
}
