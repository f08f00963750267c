//! What Go clients write in the head of a request, and what they leave out.

use plimsoll_testkit::go::{GoClient, Shape};
use plimsoll_testkit::proto::Writer;
use plimsoll_testkit::{Cluster, Fixture, soon};

use crate::common::{api, executor, good, heartbeat, owner_request, watch_request};

#[tokio::test]
async fn both_names_of_the_service_are_served_and_never_contradicted() {
    for service in [Some("shard-distributor"), Some("cadence-shard-distributor"), None] {
        let client = client(|shape| shape.service = service).await;
        let reply = ask(&client).await;
        let trailer = reply.trailers.get("rpc-service").map(|it| it.to_str().unwrap());
        assert!(trailer.is_none() || trailer == service, "{trailer:?} to {service:?}");
    }
}

#[tokio::test]
async fn both_content_types_are_served() {
    for content_type in ["application/grpc", "application/grpc+proto"] {
        let client = client(|shape| shape.content_type = content_type).await;
        let reply = ask(&client).await;
        let answered = reply.headers["content-type"].to_str().unwrap();
        assert!(answered.starts_with("application/grpc"), "{answered}");
    }
}

#[tokio::test]
async fn both_content_types_open_a_watch() {
    for content_type in ["application/grpc", "application/grpc+proto"] {
        let client = client(|shape| shape.content_type = content_type).await;
        let (path, request) = (api("WatchNamespaceState"), watch_request("orders"));
        let mut watch = soon(client.open(&path, &request, false)).await.unwrap();
        assert!(soon(watch.next_bytes()).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_call_without_a_timeout_is_served() {
    let client = client(|shape| shape.timeout = None).await;
    ask(&client).await;
}

#[tokio::test]
async fn timeouts_of_every_unit_are_understood() {
    for timeout in ["999900u", "9999500u", "10S", "1000m", "1M", "1H"] {
        let client = client(|shape| shape.timeout = Some(timeout)).await;
        ask(&client).await;
    }
}

#[tokio::test]
async fn nothing_of_yarpcs_own_headers_is_needed() {
    let client = client(|shape| {
        (shape.service, shape.timeout) = (None, None);
        shape.more.clear();
    })
    .await;
    ask(&client).await;
}

#[tokio::test]
async fn unknown_headers_are_ignored() {
    let client = client(|shape| {
        shape.more.extend([
            ("cadence-caller-type", "cli"),
            ("x-shard-distributor-namespace", "orders"),
            ("rpc-shard-key", "0"),
            ("rpc-routing-key", "x"),
            ("rpc-routing-delegate", "x"),
            ("rpc-caller-procedure", "x"),
            ("uber-trace-id", "1:1:0:1"),
        ]);
    })
    .await;
    ask(&client).await;
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let host_id = "the-host"; // 6 on a branch of the Go server
    let inner = Writer::new().text(1, "x");
    let beat = Writer::new()
        .text(1, "orders")
        .text(2, "a@1")
        .integer(3, 1)
        .text(6, host_id)
        .integer(50, 7)
        .double(51, 0.5)
        .message(52, &inner)
        .finish();
    let reply = client.call_bytes(&heartbeat(), &beat).await.unwrap();
    assert_eq!(good(&reply).integer(2), 4);
    let ask = Writer::new().text(1, "0").text(2, "orders").integer(9, 1).finish();
    let reply = client.call_bytes(&api("GetShardOwner"), &ask).await.unwrap();
    assert_eq!(good(&reply).text(1), "a@1");
}

#[tokio::test]
async fn unknown_enum_numbers_are_taken_for_no_work_and_kept() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let report = Writer::new().integer(1, 9).double(2, 1.0);
    let entry = Writer::new().text(1, "0").message(2, &report);
    let permanently_drained = 4; // on a branch of the Go server
    let beat = Writer::new()
        .text(1, "orders")
        .text(2, "a@1")
        .integer(3, permanently_drained)
        .message(4, &entry)
        .finish();
    let reply = client.call_bytes(&heartbeat(), &beat).await.unwrap();
    assert_eq!(good(&reply).integer(2), 4);
    let mut other = executor(&cluster, "orders", "b@1");
    crate::common::beat_until(&mut other, 1).await;
    let ask = Writer::new().text(1, "orders").text(2, "a@1").finish();
    let reply = client.call_bytes(&api("GetExecutorState"), &ask).await.unwrap();
    assert_eq!(good(&reply).message(2).integer(2), permanently_drained);
}

/// A client of a server that need not live long.
async fn client(change: impl FnOnce(&mut Shape)) -> Served {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let client = cluster.go().await.unwrap().with(change);
    executor(&cluster, "orders", "a@1").beat().await.unwrap();
    Served { client, _cluster: cluster }
}

struct Served {
    client: GoClient,
    _cluster: Cluster,
}

impl std::ops::Deref for Served {
    type Target = GoClient;

    fn deref(&self) -> &GoClient {
        &self.client
    }
}

async fn ask(client: &GoClient) -> plimsoll_testkit::go::Reply {
    let request = owner_request("orders", "0");
    let reply = soon(client.call(&api("GetShardOwner"), &request)).await.unwrap();
    assert_eq!(good(&reply).text(1), "a@1");
    reply
}
