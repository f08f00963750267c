//! HTTP/1.1 through the proxy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::io::AsyncWriteExt;

use crate::support::{
    AnyBody, Service, connect, full, proxy, proxy_with, read_to_end, read_until, say, scripted,
    text,
};

fn upstream(service: &Service) -> String {
    format!("http://{}", service.address)
}

#[tokio::test]
async fn a_body_goes_there_and_back() {
    let service = Service::echo().await;
    let proxy = proxy(upstream(&service)).await;
    let answer = say(
        proxy.listen,
        "POST /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_on_one_connection() {
    let service = Service::start(|request: Request<Incoming>| async move {
        http::Response::new(full(request.uri().path().to_owned()))
    })
    .await;
    let proxy = proxy(upstream(&service)).await;
    let mut client = connect(proxy.listen).await;
    let requests: String =
        (0..50).map(|n| format!("GET /{n:03} HTTP/1.1\r\nhost: a\r\n\r\n")).collect();
    client.write_all(requests.as_bytes()).await.unwrap();
    for n in 0..50 {
        let head = read_until(&mut client, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert_eq!(read_until(&mut client, &format!("{n:03}")).await, format!("/{n:03}"));
    }
}

#[tokio::test]
async fn trailers_pass_both_ways() {
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n\
                  2\r\nok\r\n0\r\nx-sum: 7\r\n\r\n";
    let (address, read) = scripted(answer).await;
    let proxy = proxy(format!("http://{address}")).await;
    let said = say(
        proxy.listen,
        "GET / HTTP/1.1\r\nhost: a\r\nte: trailers\r\nconnection: te, close\r\n\r\n",
    )
    .await;
    assert!(said.ends_with("0\r\nx-sum: 7\r\n\r\n"), "{said}");
    let head = read.await.unwrap();
    assert!(head.contains("te: trailers\r\n") && head.contains("connection: te\r\n"), "{head}");
}

#[tokio::test]
async fn a_client_of_http_1_0_is_served() {
    let (address, read) = scripted("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let proxy = proxy(format!("http://{address}")).await;
    let answer = say(proxy.listen, "GET /old HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("ok"), "{answer}");
    let head = read.await.unwrap();
    assert!(head.starts_with("GET /old HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: {address}\r\n")), "{head}");
}

#[tokio::test]
async fn an_answer_to_head_has_a_length_and_no_body() {
    let (address, _read) = scripted("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n").await;
    let proxy = proxy(format!("http://{address}")).await;
    let answer = say(proxy.listen, "HEAD / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(answer.contains("content-length: 10\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn an_asterisk_stays_one() {
    let (address, read) = scripted("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let proxy = proxy(format!("http://{address}")).await;
    say(proxy.listen, "OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    let head = read.await.unwrap();
    assert!(head.starts_with("OPTIONS * HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_client_that_waits_to_be_asked_for_its_body_is_asked() {
    let service = Service::echo().await;
    let proxy = proxy(upstream(&service)).await;
    let mut client = connect(proxy.listen).await;
    let head = "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\
                connection: close\r\ncontent-length: 2\r\n\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    let asked = read_until(&mut client, "\r\n\r\n").await;
    assert_eq!(asked, "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"hi").await.unwrap();
    assert!(read_to_end(&mut client).await.ends_with("hi"));
}

/// A request that says twice where it ends is read one way only: chunked, as RFC
/// 9112 (6.3) has it, without the length for the next reader to disagree about,
/// and nothing after it on that connection is taken for a request.
#[tokio::test]
async fn a_request_with_two_lengths_smuggles_nothing() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let service = Service::start(move |request: Request<Incoming>| {
        let count = count.clone();
        async move {
            count.fetch_add(1, Ordering::Relaxed);
            assert!(!request.headers().contains_key("content-length"));
            let body = request.into_body().collect().await.unwrap().to_bytes();
            http::Response::new(full(body))
        }
    })
    .await;
    let proxy = proxy(upstream(&service)).await;
    let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
    for lengths in [
        "content-length: 46\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 46\r\n",
    ] {
        let text = format!("POST / HTTP/1.1\r\nhost: a\r\n{lengths}\r\n{smuggled}");
        let answer = say(proxy.listen, &text).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    }
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn lengths_that_contradict_each_other_are_refused() {
    let service = Service::echo().await;
    let proxy = proxy(upstream(&service)).await;
    for fields in [
        "content-length: 1\r\ncontent-length: 2\r\n",
        "transfer-encoding: gzip\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "content-length: +1\r\n",
    ] {
        let answer =
            say(proxy.listen, &format!("POST / HTTP/1.1\r\nhost: a\r\n{fields}\r\nx")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{fields:?}: {answer}");
    }
    assert_eq!(service.connections(), 0);
}

#[tokio::test]
async fn ten_thousand_requests_over_the_pool_do_not_fail() {
    let service = Service::echo().await;
    // So short that connections are closed and opened all the time.
    let proxy = proxy_with(upstream(&service), |settings| {
        settings.timeouts.upstream_idle = std::time::Duration::from_millis(2);
    })
    .await;
    let client: Client<_, AnyBody> = Client::builder(TokioExecutor::new()).build_http();
    let tasks = (0..50).map(|task| {
        let (client, to) = (client.clone(), proxy.listen);
        tokio::spawn(async move {
            for n in 0..200 {
                let said = format!("{task} {n}");
                let request = Request::post(format!("http://{to}/")).body(full(said.clone()));
                let answer = client.request(request.unwrap()).await.unwrap();
                assert_eq!(text(answer).await, said);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}
