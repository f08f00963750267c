//! Figures, not tests: `cargo test --release -p plimsoll-server --test servers figures
//! -- --ignored --nocapture --test-threads 1`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_wire::v1;

use super::etcd::Etcd;
use super::executor::{Oracle, executors};
use super::fleet::{self, SOON, eventually, leader, namespace};
use super::process::Process;

fn percentile(of: &mut [Duration], part: f64) -> Duration {
    of.sort_unstable();
    of[((of.len() - 1) as f64 * part).round() as usize]
}

/// A shard that nobody has asked for yet is granted: the time from the kill.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a figure"]
async fn leader_killed_to_next_grant() {
    let mut took = Vec::new();
    let etcd = Etcd::start();
    let mut servers: Vec<_> = (0..3).map(|_| Process::start(&etcd)).collect();
    for run in 0..20 {
        let all: Vec<_> = servers.iter().map(|server| server.grpc.clone()).collect();
        let oracle = Arc::new(Oracle::default());
        let _executors = executors(&oracle, "carts", 6, &all);
        let leads = leader(&all[0], "carts").await;
        let old = all.iter().position(|it| *it == leads).unwrap();
        let other = all[(old + 1) % 3].clone();
        eventually(SOON, "a grant", || lookup(&other, format!("before-{run}"))).await;
        servers[old].kill();
        let killed = Instant::now();
        let key = format!("after-{run}");
        eventually(SOON, "a grant", || lookup(&other, key.clone())).await;
        let granted =
            eventually(SOON, "it was told", || async { oracle.granted_after(killed, &key) });
        took.push(granted.await - killed);
        servers[old] = Process::start(&etcd);
        oracle.assert_never_double();
    }
    println!(
        "leader kill -9 to next grant, {} runs: p50 {:?} p99 {:?}",
        took.len(),
        percentile(&mut took, 0.5),
        percentile(&mut took, 0.99)
    );
    assert!(percentile(&mut took, 0.99) < Duration::from_millis(2500));
}

async fn lookup(server: &str, key: String) -> Option<()> {
    let request = v1::LookupRequest { namespace: "carts".into(), shard_key: key };
    fleet::routing(server).lookup(request).await.ok().map(drop)
}

/// From the order to go until the next leader has taken over.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a figure"]
async fn graceful_hand_over() {
    let mut took = Vec::new();
    for _ in 0..20 {
        let etcd = Etcd::start();
        let mut servers = fleet::start_all(&etcd, 2, &[namespace("orders", 1000)]).await;
        let all: Vec<_> = servers.iter().map(|server| server.grpc.to_string()).collect();
        let oracle = Arc::new(Oracle::default());
        let _executors = executors(&oracle, "orders", 10, &all);
        eventually(SOON, "all run", || async { (oracle.running() == 1000).then_some(()) }).await;
        let leads = leader(&all[0], "orders").await;
        let old = servers.iter().position(|it| it.grpc.to_string() == leads).unwrap();
        let going = servers.remove(old);
        let begun = Instant::now();
        let leave = tokio::spawn(going.stop());
        let next = &servers[0].namespaces;
        while next.get("orders").is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        took.push(begun.elapsed());
        leave.await.unwrap();
    }
    println!(
        "graceful hand-over of 1,000 shards, {} runs: p50 {:?} p99 {:?}",
        took.len(),
        percentile(&mut took, 0.5),
        percentile(&mut took, 0.99)
    );
    assert!(percentile(&mut took, 0.99) < Duration::from_millis(100));
}

/// Changes of etcd a second with 1,000 executors that beat and nothing to do.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a figure"]
async fn etcd_writes_at_rest() {
    let etcd = Etcd::start();
    let mut orders = namespace("orders", 2000);
    for (key, value) in [("lease", "10s"), ("beat", "2s"), ("heartbeat_ttl", "10s")] {
        orders.settings.insert(key.to_owned(), value.into());
    }
    let servers = fleet::start_all(&etcd, 3, &[orders]).await;
    let all: Vec<_> = servers.iter().map(|server| server.grpc.to_string()).collect();
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "orders", 1000, &all);
    let minute = Duration::from_secs(60);
    eventually(minute, "all run", || async { (oracle.running() == 2000).then_some(()) }).await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    let (before, begun) = (etcd.revision(), Instant::now());
    tokio::time::sleep(Duration::from_secs(60)).await;
    let writes = (etcd.revision() - before) as f64 / begun.elapsed().as_secs_f64();
    println!("etcd writes at rest, 1,000 executors, 3 servers: {writes:.2} a second");
    assert!(writes < 5.0);
    let beats: Vec<String> = servers.iter().map(|server| server.metrics.text()).collect();
    let forwarded = |text: &String| {
        let line = text.lines().find(|line| line.starts_with("plimsoll_forwarded_calls_total"));
        line.and_then(|line| line.split(' ').nth(1)).map(str::to_owned)
    };
    println!("forwarded, by server: {:?}", beats.iter().map(forwarded).collect::<Vec<_>>());
}
