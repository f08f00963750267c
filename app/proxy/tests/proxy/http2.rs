//! HTTP/2 without TLS through the proxy.

use std::sync::Arc;

use http::{Request, Response, Version};
use hyper::body::Incoming;
use tokio::sync::Semaphore;

use crate::support::{Service, full, http2, post, proxy, proxy_with, scripted, soon, text};

#[tokio::test]
async fn it_stays_http_2_and_keeps_its_authority() {
    let service = Service::start(|request: Request<Incoming>| async move {
        assert_eq!(request.version(), Version::HTTP_2);
        Response::new(full(request.uri().to_string()))
    })
    .await;
    let proxy = proxy(service.address).await;
    let (mut client, _task) = http2(proxy.listen).await;
    let answer = soon(client.send_request(post("/a?b=c", ""))).await.unwrap();
    assert_eq!(text(answer).await, "http://shop.example/a?b=c");
}

#[tokio::test]
async fn it_becomes_http_1_for_a_service_that_speaks_nothing_else() {
    let (address, read) = scripted("HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok").await;
    let proxy = proxy(format!("http://{address}")).await;
    let (mut client, _task) = http2(proxy.listen).await;
    let mut request = post("/a", "hello");
    request.headers_mut().append("cookie", "a=1".parse().unwrap());
    request.headers_mut().append("cookie", "b=2".parse().unwrap());
    let answer = soon(client.send_request(request)).await.unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!(text(answer).await, "ok");
    let head = read.await.unwrap();
    assert!(head.starts_with("POST /a HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: shop.example\r\n"), "{head}");
    assert!(head.contains("cookie: a=1; b=2\r\n"), "{head}");
    assert!(head.contains("content-length: 5\r\n"), "{head}");
}

#[tokio::test]
async fn a_request_without_a_body_stays_without_one_over_http_1() {
    let (address, read) = scripted("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let proxy = proxy(format!("http://{address}")).await;
    let (mut client, _task) = http2(proxy.listen).await;
    let request = Request::get("http://shop.example/").body(full("")).unwrap();
    soon(client.send_request(request)).await.unwrap();
    assert_eq!(read.await.unwrap(), "GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n");
}

#[tokio::test]
async fn http_1_becomes_http_2_for_a_service_that_speaks_nothing_else() {
    let service = Service::start(|request: Request<Incoming>| async move {
        Response::new(full(format!("{:?} {}", request.version(), request.uri())))
    })
    .await;
    let proxy = proxy(format!("h2c://{}", service.address)).await;
    let asked = "GET /a HTTP/1.1\r\nhost: shop.example\r\nconnection: close\r\n\r\n";
    let answer = crate::support::say(proxy.listen, asked).await;
    assert!(answer.ends_with("HTTP/2.0 http://shop.example/a"), "{answer}");
}

#[tokio::test]
async fn another_connection_is_opened_when_the_streams_of_one_are_used_up() {
    let gate = Arc::new(Semaphore::new(0));
    let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let service = Service::with_streams(10, {
        let gate = gate.clone();
        move |_| {
            let (gate, arrived) = (gate.clone(), arrived.clone());
            async move {
                arrived.send(()).unwrap();
                drop(gate.acquire().await.unwrap());
                Response::new(full("ok"))
            }
        }
    })
    .await;
    let proxy = proxy(service.address).await;
    let (client, _task) = http2(proxy.listen).await;
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move { client.send_request(post("/", "")).await })
        })
        .collect();
    // All are being handled at once, ten a connection at most.
    for _ in 0..100 {
        soon(arrivals.recv()).await.unwrap();
    }
    gate.add_permits(1);
    for answer in waiting {
        assert_eq!(soon(answer).await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(service.connections(), 10);
}

#[tokio::test]
async fn no_more_connections_are_opened_than_allowed() {
    let service = Service::echo().await;
    let proxy = proxy_with(service.address, |settings| {
        settings.limits.upstream_streams = 1;
        settings.limits.upstream_connections = 3;
    })
    .await;
    let (client, _task) = http2(proxy.listen).await;
    let all = (0..200).map(|n| {
        let mut client = client.clone();
        async move { text(client.send_request(post("/", format!("{n}"))).await.unwrap()).await }
    });
    let answers = soon(futures::future::join_all(all)).await;
    assert!(answers.iter().enumerate().all(|(n, text)| *text == n.to_string()));
    assert!((2..=3).contains(&service.connections()), "{} connections", service.connections());
}

#[tokio::test]
async fn ten_thousand_requests_over_the_pool_do_not_fail() {
    let service = Service::echo().await;
    let proxy = proxy(service.address).await;
    let (client, _task) = http2(proxy.listen).await;
    let tasks = (0..50).map(|task| {
        let mut client = client.clone();
        tokio::spawn(async move {
            for n in 0..200 {
                let said = format!("{task} {n}");
                let answer = client.send_request(post("/", said.clone())).await.unwrap();
                assert_eq!(text(answer).await, said);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        soon(task).await.unwrap();
    }
    assert_eq!(service.connections(), 1);
}

#[tokio::test]
async fn a_service_that_closes_after_every_request_costs_no_request() {
    // Every connection is told to leave as soon as it has carried one request.
    let service = Service::with_goaway().await;
    let proxy = proxy(service.address).await;
    let (mut client, _task) = http2(proxy.listen).await;
    for n in 0..300 {
        let answer = soon(client.send_request(post("/", format!("{n}")))).await.unwrap();
        assert_eq!((answer.status().as_u16(), text(answer).await), (200, n.to_string()));
    }
    assert!(service.connections() > 100, "{} connections", service.connections());
}
