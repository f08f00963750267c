//! Header fields on the wire.

use crate::support::{Service, proxy, proxy_with, say, scripted};
use plimsoll_proxy::settings::{Forwarded, ForwardedStyle, HostRule};

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: x-hop\r\nx-hop: 1\r\n\
                      keep-alive: timeout=5\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n";

#[tokio::test]
async fn fields_of_one_hop_pass_neither_way() {
    let (address, read) = scripted(ANSWER).await;
    let proxy = proxy(format!("http://{address}")).await;
    let answer = say(
        proxy.listen,
        "GET / HTTP/1.1\r\nhost: shop.example\r\nconnection: close, x-hop\r\nx-hop: 1\r\n\
         keep-alive: timeout=5\r\nproxy-connection: keep-alive\r\nte: gzip\r\nx-end: 1\r\n\r\n",
    )
    .await;
    assert_eq!(
        read.await.unwrap(),
        "GET / HTTP/1.1\r\nhost: shop.example\r\nx-end: 1\r\n\r\n",
        "what the service got"
    );
    assert!(!answer.contains("x-hop") && !answer.contains("keep-alive"), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert!(answer.contains("set-cookie: a=1\r\nset-cookie: b=2\r\n"), "{answer}");
}

#[tokio::test]
async fn an_answer_with_a_length_and_chunks_arrives_whole() {
    let (address, _) = scripted(
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n\
         5\r\nhello\r\n0\r\n\r\n",
    )
    .await;
    let proxy = proxy(format!("http://{address}")).await;
    let answer = say(proxy.listen, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "{answer}");
    assert!(!answer.contains("content-length"), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_coded_for_one_hop_passes_neither_way() {
    let service = Service::echo().await;
    let asked = proxy(format!("http://{}", service.address)).await;
    let answer = say(
        asked.listen,
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\
         connection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
    assert!(answer.contains("x-proxy-reason: coding\r\n"), "{answer}");
    assert_eq!(service.connections(), 0);
    let coded = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    let (address, _) = scripted(coded).await;
    let answered = proxy(format!("http://{address}")).await;
    let answer =
        say(answered.listen, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("x-proxy-reason: upstream-coding\r\n"), "{answer}");
}

#[tokio::test]
async fn the_client_and_the_proxy_are_named_if_asked_for() {
    let (address, read) = scripted(ANSWER).await;
    let proxy = proxy_with(format!("http://{address}"), |settings| {
        settings.via = true;
        settings.host = HostRule::Upstream;
        settings.forwarded = Forwarded { style: ForwardedStyle::Standard, trust_client: false };
    })
    .await;
    let answer = say(
        proxy.listen,
        "GET / HTTP/1.1\r\nhost: shop.example\r\nconnection: close\r\n\
         forwarded: for=192.0.2.1\r\n\r\n",
    )
    .await;
    let head = read.await.unwrap();
    assert!(head.contains(&format!("host: {address}\r\n")), "{head}");
    assert!(head.contains("via: 1.1 plimsoll\r\n"), "{head}");
    let forwarded = "forwarded: for=127.0.0.1;host=\"shop.example\";proto=http\r\n";
    assert!(head.contains(forwarded), "{head}");
    assert!(answer.contains("via: 1.1 plimsoll\r\n"), "{answer}");
}
