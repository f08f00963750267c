//! Messages of up to 64 MiB: what yarpc's servers take and its clients too.

use plimsoll_testkit::go::GoExecutor;
use plimsoll_testkit::{Cluster, Fixture, within};
use plimsoll_wire::sharddistributor as go;
use prost::Message;

use crate::common::{api, good, heartbeat, owner_request};

const MIB: usize = 1024 * 1024;
const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_of_more_than_four_mebibytes_is_taken() {
    takes_a_heartbeat_of(5 * MIB, 60).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_of_almost_sixty_four_mebibytes_is_taken() {
    takes_a_heartbeat_of(60 * MIB, 1000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_beyond_sixty_four_mebibytes_is_refused_and_the_connection_lives() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let request = beat_of(66 * MIB, 1000);
    let reply = within(LIMIT, client.call(&heartbeat(), &request)).await.unwrap();
    assert!([8, 11].contains(&reply.code()), "{} {}", reply.code(), reply.message());
    let reply = client.call(&api("GetShardOwner"), &owner_request("orders", "1")).await.unwrap();
    assert_eq!(reply.code(), 5, "the connection serves on");
}

/// The answer names every shard that is not the executor's, so it is as large.
async fn takes_a_heartbeat_of(bytes: usize, key_length: usize) {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let client = cluster.go().await.unwrap().with(|shape| shape.timeout = Some("60S"));
    let request = beat_of(bytes, key_length);
    assert!(request.encoded_len() > bytes);
    let reply = within(LIMIT, client.call(&heartbeat(), &request)).await.unwrap();
    assert_eq!(good(&reply).integer(2), 4);
    let answered = good(&reply).message_map(1).len();
    assert!(answered >= request.shard_status_reports.len(), "every strange one is named");
}

fn beat_of(bytes: usize, key_length: usize) -> go::HeartbeatRequest {
    let gopher = GoExecutor::new(([127, 0, 0, 1], 1).into(), "orders", "a@1");
    let mut request = gopher.request(go::ExecutorStatus::Active);
    let report = go::ShardStatusReport { status: 1, shard_load: 1.0 };
    // A report is its key and some bytes around it.
    for n in 0..bytes / (key_length + 10) {
        let key = format!("{n:0key_length$}");
        request.shard_status_reports.insert(key, report);
    }
    request
}
