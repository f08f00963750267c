//! Everybody comes back at once, and is let in one after the other.

use std::sync::Arc;
use std::time::Duration;

use super::etcd::Etcd;
use super::executor::{Oracle, executors};
use super::fleet::{self, SOON, eventually, leader, namespace};

/// Executors; they beat every 300 ms.
const MANY: usize = 150;

#[tokio::test(flavor = "multi_thread")]
async fn after_a_leader_change_there_are_fewer_than_twice_the_usual_requests() {
    let etcd = Etcd::start();
    let mut orders = namespace("orders", 300);
    for (key, value) in [("lease", "10s"), ("heartbeat_ttl", "10s"), ("beat", "1s")] {
        orders.settings.insert(key.to_owned(), value.into());
    }
    let mut servers = fleet::start_all(&etcd, 2, &[orders]).await;
    let all: Vec<_> = servers.iter().map(|server| server.grpc.to_string()).collect();
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "orders", MANY, &all);
    let all_run = || async { (oracle.running() == 300).then_some(()) };
    eventually(2 * SOON, "all run", all_run).await;
    let leads = leader(&all[0], "orders").await;
    let old = servers.iter().position(|it| it.grpc.to_string() == leads).unwrap();
    servers.remove(old).stop().await;
    let new = &servers[0];
    let (mut most, mut last) = (0.0_f64, requests(&new.metrics.text()));
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = requests(&new.metrics.text());
        most = most.max(now - last);
        last = now;
    }
    eventually(SOON, "all run", all_run).await;
    // One beat a second each is usual.
    assert!(most <= 2.0 * MANY as f64, "{most} in one second");
    assert_eq!(oracle.stops(), 0);
}

/// Hellos that were let in, and beats.
fn requests(metrics: &str) -> f64 {
    let is_one = |line: &&str| {
        let of = |operation: &str| {
            line.starts_with(&format!(
                "shard_distributor_requests_total{{operation=\"{operation}\"}}"
            ))
        };
        of("Hello") || of("Beat")
    };
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
    metrics.lines().filter(is_one).filter_map(value).sum()
}
