//! Leases: who keeps one, and who loses it.

use std::time::Duration;

use plimsoll_testkit::{Cluster, Fixture, Gate, Oracle, SOON, Worker, eventually, holds};

use crate::common::{drain_host, running, workers};

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_takes_longer_than_the_lease_costs_no_lease() {
    let orders = Fixture::fixed("orders", 4).quick();
    let (cluster, oracle, gate) =
        (Cluster::start([orders]).await.unwrap(), Oracle::new(), Gate::shut());
    let worker = Worker::new("a", &oracle).start_gate(&gate);
    let executor = worker.run(&cluster.url(), "orders").await.unwrap();
    eventually(SOON, "every start is under way", || async {
        (oracle.running().len() == 4).then_some(())
    })
    .await;
    // Two leases long.
    holds(Duration::from_secs(2), "nothing is started again", || async { oracle.runs().len() })
        .await;
    assert!(executor.shards().is_empty(), "they do not run yet");
    gate.open();
    eventually(SOON, "they run", || async { (executor.shards().len() == 4).then_some(()) }).await;
    assert_expired(&cluster, 0).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_takes_longer_than_the_lease_keeps_the_shard_from_everybody_else() {
    let orders = Fixture::fixed("orders", 2).quick();
    let (cluster, oracle, gate) =
        (Cluster::start([orders]).await.unwrap(), Oracle::new(), Gate::shut());
    let worker = Worker::new("a", &oracle).stop_gate(&gate);
    let executor = worker.run(&cluster.url(), "orders").await.unwrap();
    eventually(SOON, "both run", || async { (executor.shards().len() == 2).then_some(()) }).await;
    let _second = workers(&cluster, "orders", &["b"], &oracle).await;
    drain_host(&cluster, "orders", "a").await;
    eventually(SOON, "both are stopping", || async { executor.shards().is_empty().then_some(()) })
        .await;
    holds(Duration::from_secs(2), "the other waits", || async { oracle.count("b") }).await;
    assert_expired(&cluster, 0).await;
    gate.open();
    eventually(SOON, "the other has them", || async { (oracle.count("b") == 2).then_some(()) })
        .await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_report_that_is_stuck_costs_no_lease() {
    let orders = Fixture::fixed("orders", 2).quick();
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let (_keep, stuck) = std::sync::mpsc::channel::<()>();
    let stuck = parking_lot::Mutex::new(stuck);
    // Until the test ends.
    let worker = Worker::new("a", &oracle).load(move |_| stuck.lock().recv().ok().map(|()| 1.0));
    let executor = worker.run(&cluster.url(), "orders").await.unwrap();
    eventually(SOON, "both run", || async { (executor.shards().len() == 2).then_some(()) }).await;
    holds(Duration::from_secs(2), "both run", || async { executor.shards().len() }).await;
    assert!(executor.stats().loads_late > 0);
    assert_expired(&cluster, 0).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shards_of_a_dead_executor_run_elsewhere_after_its_lease_and_not_before() {
    let orders = Fixture::fixed("orders", 24).quick();
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let mut executors = workers(&cluster, "orders", &["a", "b", "c", "d"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 24).await;
    let died_at = tokio::time::Instant::now();
    drop(executors.remove(0));
    oracle.died("a");
    running(&oracle, &spectator, 24).await;
    let runs = oracle.runs();
    let taken_over = runs.iter().filter(|run| run.from > died_at);
    // The lease is counted from the last beat, which was up to 100 ms before.
    let soonest = taken_over.map(|run| run.from - died_at).min().unwrap();
    assert!(soonest >= Duration::from_millis(800), "{soonest:?}");
    assert_expired(&cluster, 1).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn when_most_fall_silent_together_nothing_moves_for_one_lease_and_it_is_said() {
    let orders = Fixture::fixed("orders", 12).quick();
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let mut executors = workers(&cluster, "orders", &["a", "b", "c", "d"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 12).await;
    let died_at = tokio::time::Instant::now();
    executors.truncate(1);
    for dead in ["b", "c", "d"] {
        oracle.died(dead);
    }
    eventually(SOON, "it is called a mass failure", || async {
        let conditions = cluster.describe("orders").await.unwrap().conditions;
        conditions.iter().any(|it| it.contains("fell silent together")).then_some(())
    })
    .await;
    running(&oracle, &spectator, 12).await;
    assert_eq!(oracle.count("a"), 12);
    let runs = oracle.runs();
    let soonest = runs.iter().filter(|run| run.from > died_at).map(|run| run.from - died_at).min();
    // Their lease, and one more.
    assert!(soonest.unwrap() >= Duration::from_millis(1700), "{soonest:?}");
    oracle.assert_clean();
}

async fn assert_expired(cluster: &Cluster, count: usize) {
    let events = cluster.history("orders").await.unwrap();
    let expired: Vec<_> = events.iter().filter(|event| event.kind == "expired").collect();
    assert_eq!(expired.len(), count, "{expired:?}");
}
