//! Answers before the end of a request must not cost the connection: see
//! `body/upload.rs`.

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::sync::Semaphore;

use crate::support::{Service, full, http2, nowhere, post, proxy};

/// Twenty thousand requests with a small body over two connections, 256 at once.
async fn flood(to: std::net::SocketAddr, expected: StatusCode) {
    let flying = Arc::new(Semaphore::new(256));
    let connections = [http2(to).await, http2(to).await];
    let mut requests = tokio::task::JoinSet::new();
    for n in 0..20_000 {
        let place = flying.clone().acquire_owned().await.unwrap();
        let mut client = connections[n % 2].0.clone();
        requests.spawn(async move {
            let answer = client.send_request(post("/", "a small body")).await.unwrap();
            drop(place);
            answer.status()
        });
        while let Some(done) = requests.try_join_next() {
            assert_eq!(done.unwrap(), expected);
        }
    }
    while let Some(done) = requests.join_next().await {
        assert_eq!(done.unwrap(), expected);
    }
    assert!(connections.iter().all(|(_, task)| !task.is_finished()));
}

#[tokio::test]
async fn while_the_service_is_down() {
    let proxy = proxy(nowhere().await).await;
    flood(proxy.listen, StatusCode::BAD_GATEWAY).await;
}

#[tokio::test]
async fn while_the_service_answers_without_reading() {
    let service = Service::start(|_: Request<Incoming>| async {
        let mut answer = Response::new(full(""));
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        answer
    })
    .await;
    let proxy = proxy(format!("http://{}", service.address)).await;
    flood(proxy.listen, StatusCode::SERVICE_UNAVAILABLE).await;
}
