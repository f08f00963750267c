//! What the edge refuses, by name, and that a refused heartbeat costs nobody a
//! lease.

use std::collections::HashMap;
use std::time::Duration;

use plimsoll_testkit::go::{GoExecutor, Reply};
use plimsoll_testkit::{Cluster, Fixture, eventually};
use plimsoll_wire::sharddistributor as go;

use crate::common::{api, beat_until, executor, heartbeat, owner_request};

#[tokio::test]
async fn bad_loads_are_refused_with_the_name_of_the_shard() {
    let cluster = orders().await;
    for load in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.001] {
        let gopher = executor(&cluster, "orders", "a@1");
        let mut request = gopher.request(go::ExecutorStatus::Active);
        request.shard_status_reports.insert("3".to_owned(), report(load));
        let reply = refused(&cluster, &request).await;
        assert!(reply.message().contains("load") && reply.message().contains("\"3\""), "{reply:?}");
    }
}

#[tokio::test]
async fn bad_executor_ids_are_refused() {
    let cluster = orders().await;
    for id in ["", "a/b", "/", &"x".repeat(257)] {
        let gopher = executor(&cluster, "orders", id);
        let reply = refused(&cluster, &gopher.request(go::ExecutorStatus::Active)).await;
        assert!(reply.message().contains("executor_id"), "{reply:?}");
    }
}

#[tokio::test]
async fn bad_hosts_are_refused() {
    let cluster = orders().await;
    for host in ["a/b", "a@b", &"x".repeat(129)] {
        let mut gopher = executor(&cluster, "orders", "a@1");
        gopher.host = Some(host.to_owned());
        let reply = refused(&cluster, &gopher.request(go::ExecutorStatus::Active)).await;
        assert!(reply.message().contains("host_name"), "{reply:?}");
    }
}

#[tokio::test]
async fn labels_beyond_the_limits_are_refused_and_within_them_are_not() {
    let cluster = orders().await;
    let numbered = |count: usize| (0..count).map(|n| (n.to_string(), String::new())).collect();
    let one = |key: usize, value: usize| HashMap::from([("k".repeat(key), "v".repeat(value))]);
    for labels in [numbered(33), one(129, 1), one(1, 512 * 1024 + 1)] {
        let mut gopher = executor(&cluster, "orders", "a@1");
        gopher.metadata = labels;
        let reply = refused(&cluster, &gopher.request(go::ExecutorStatus::Active)).await;
        assert!(reply.message().contains("invalid metadata"), "{reply:?}");
    }
    for labels in [numbered(32), one(128, 512 * 1024)] {
        let mut gopher = executor(&cluster, "orders", "a@1");
        gopher.metadata = labels;
        gopher.beat().await.unwrap();
    }
}

#[tokio::test]
async fn a_key_that_is_too_long_is_refused() {
    let cluster = orders().await;
    let client = cluster.go().await.unwrap();
    let key = "x".repeat(1025);
    for method in ["GetShardOwner", "InspectShard"] {
        let reply = client.call(&api(method), &owner_request("orders", &key)).await.unwrap();
        assert_eq!(reply.code(), 3, "{reply:?}");
    }
}

#[tokio::test]
async fn an_executor_whose_heartbeats_are_refused_keeps_its_shards() {
    let cluster = orders().await;
    let mut gopher = executor(&cluster, "orders", "a@1");
    let mut other = executor(&cluster, "orders", "b@1");
    // Both are there before anything is placed.
    gopher.beat().await.unwrap();
    other.beat().await.unwrap();
    beat_until(&mut gopher, 2).await;
    beat_until(&mut other, 2).await;
    let mut bad = gopher.request(go::ExecutorStatus::Active);
    bad.shard_status_reports.insert("0".to_owned(), report(f64::NAN));
    let begun = tokio::time::Instant::now();
    let both = tokio::sync::Mutex::new((&mut gopher, &mut other));
    // For longer than its lease of one second.
    eventually(Duration::from_secs(10), "two leases pass", || async {
        let (gopher, other) = &mut *both.lock().await;
        let reply = gopher.beat_raw(&bad).await.unwrap();
        assert_eq!(reply.code(), 3);
        other.beat().await.unwrap();
        assert_eq!(other.shards().len(), 2, "the other was given what is not free");
        (begun.elapsed() > Duration::from_secs(2)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn bad_orders_are_refused() {
    let cluster = orders().await;
    let client = cluster.go().await.unwrap();
    let namespace = || "orders".to_owned();
    for keys in [vec![], vec![""], vec!["a/b"], vec!["1", ""]] {
        let shard_keys: Vec<_> = keys.iter().map(|key| (*key).to_owned()).collect();
        let drain =
            go::DrainShardsRequest { namespace: namespace(), shard_keys: shard_keys.clone() };
        let undrain = go::UndrainShardsRequest { namespace: namespace(), shard_keys };
        assert_eq!(client.call(&api("DrainShards"), &drain).await.unwrap().code(), 3, "{keys:?}");
        let reply = client.call(&api("UndrainShards"), &undrain).await.unwrap();
        assert_eq!(reply.code(), 3, "{keys:?}");
    }
    let long = "x".repeat(129);
    for hosts in [vec![], vec![""], vec!["a/b"], vec!["a@b"], vec![&*long], vec!["a", ""]] {
        let host = |name: &&str| go::DrainedHost {
            hostname: (*name).to_owned(),
            ..go::DrainedHost::default()
        };
        let hosts = hosts.iter().map(host).collect();
        let drain = go::DrainHostsRequest { namespace: namespace(), hosts };
        let reply = client.call(&api("DrainHosts"), &drain).await.unwrap();
        assert_eq!(reply.code(), 3, "{drain:?}");
    }
    let undrain = go::UndrainHostsRequest { namespace: namespace(), hostnames: Vec::new() };
    assert_eq!(client.call(&api("UndrainHosts"), &undrain).await.unwrap().code(), 3);
}

#[tokio::test]
async fn bytes_that_are_no_message_are_an_error_and_the_connection_lives() {
    let cluster = orders().await;
    let client = cluster.go().await.unwrap();
    for path in [heartbeat(), api("GetShardOwner")] {
        let reply = client.call_bytes(&path, &[0x0a, 0x7f, 0x00]).await.unwrap();
        assert_ne!(reply.code(), 0, "{path}");
    }
    let reply = client.call(&api("GetShardOwner"), &owner_request("orders", "9")).await.unwrap();
    assert_eq!(reply.code(), 5);
}

async fn orders() -> Cluster {
    Cluster::start([Fixture::fixed("orders", 4).quick()]).await.unwrap()
}

fn report(shard_load: f64) -> go::ShardStatusReport {
    go::ShardStatusReport { status: go::ShardStatus::Ready.into(), shard_load }
}

/// Sends a heartbeat that must be refused as the caller's fault.
async fn refused(cluster: &Cluster, request: &go::HeartbeatRequest) -> Reply {
    let mut sender = GoExecutor::new(cluster.grpc(), "orders", "sender");
    let reply = sender.beat_raw(request).await.unwrap();
    assert_eq!(reply.code(), 3, "{reply:?}");
    assert_eq!(reply.typed().unwrap(), None);
    reply
}
