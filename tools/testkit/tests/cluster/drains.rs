//! Drains of hosts and shards, as executors and spectators live through them.

use std::time::Duration;

use plimsoll_client::LookupError;
use plimsoll_testkit::{Cluster, Fixture, Oracle, SOON, eventually, holds};
use plimsoll_wire::v1;

use crate::common::{drain_host, drain_shard, running, undrain_host, undrain_shard, workers};

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_host_is_emptied_at_once_and_not_at_the_next_cycle() {
    let orders = Fixture::fixed("orders", 30).quick().set("period", "1h");
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let _executors = workers(&cluster, "orders", &["a", "b", "c"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 30).await;
    assert!(oracle.count("a") > 0);
    drain_host(&cluster, "orders", "a").await;
    eventually(Duration::from_secs(5), "the host is empty", || async {
        (oracle.count("a") == 0).then_some(())
    })
    .await;
    running(&oracle, &spectator, 30).await;
    // The shards were spread over both others.
    assert!(oracle.count("b") >= 10 && oracle.count("c") >= 10, "{:?}", oracle.running());
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_drain_lasts_over_a_restart_and_ends_when_it_is_ended() {
    let orders = Fixture::fixed("orders", 12)
        .quick()
        .lease("4s")
        .set("load_balancing_mode", "greedy")
        .set("load_balancing_greedy.per_shard_cooldown", "0s")
        .set("load_balancing_greedy.move_budget_proportion", "0.5");
    let (mut cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let _executors = workers(&cluster, "orders", &["a", "b"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 12).await;
    drain_host(&cluster, "orders", "a").await;
    eventually(SOON, "the host is empty", || async { (oracle.count("a") == 0).then_some(()) })
        .await;
    cluster.stop().await;
    cluster.resume().await;
    eventually(SOON, "the drained executor is back", || async {
        let request =
            v1::GetLoadsRequest { namespace: "orders".into(), ..v1::GetLoadsRequest::default() };
        let loads = cluster.admin().get_loads(request).await.ok()?.into_inner();
        let a = loads.executors.into_iter().find(|executor| executor.executor_id == "a")?;
        assert_ne!(a.status, "active", "it could be given shards: {a:?}");
        (a.status == "drained" && a.protocol == "session").then_some(())
    })
    .await;
    running(&oracle, &spectator, 12).await;
    assert_eq!(oracle.count("a"), 0);
    let hosts = cluster.drains("orders").await.unwrap().hosts;
    assert_eq!((hosts[0].name.as_str(), hosts[0].reason.as_str()), ("a", "maintenance"));

    undrain_host(&cluster, "orders", "a").await;
    eventually(Duration::from_secs(20), "it gets work again", || async {
        (oracle.count("a") > 0).then_some(())
    })
    .await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_that_nobody_can_take_moves_nothing_and_says_why() {
    let orders = Fixture::fixed("orders", 6).quick();
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let _executors = workers(&cluster, "orders", &["a"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 6).await;
    drain_host(&cluster, "orders", "a").await;
    holds(Duration::from_millis(500), "it runs everything", || async { oracle.count("a") }).await;
    let drains = cluster.drains("orders").await.unwrap();
    let waits = &drains.hosts[0].waiting_for;
    assert!(waits.contains("no other executor"), "{waits}");
    let conditions = cluster.describe("orders").await.unwrap().conditions;
    assert!(conditions.iter().any(|it| it.contains("drain of a waits")), "{conditions:?}");
    // Somebody comes: it goes on by itself.
    let _more = workers(&cluster, "orders", &["b"], &oracle).await;
    eventually(SOON, "the host is empty", || async { (oracle.count("b") == 6).then_some(()) })
        .await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_shard_stops_at_once_answers_drained_and_comes_back_undrained() {
    let orders = Fixture::fixed("orders", 4).quick();
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let executors = workers(&cluster, "orders", &["a", "b"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 4).await;
    drain_shard(&cluster, "orders", "2").await;
    eventually(Duration::from_secs(5), "it runs nowhere", || async {
        oracle.runner("2").is_none().then_some(())
    })
    .await;
    let drained = spectator.lookup_fresh("2").await.unwrap_err();
    assert!(matches!(drained, LookupError::Drained { .. }), "{drained:?}");
    eventually(SOON, "the map says so too", || async {
        matches!(spectator.lookup("2").await, Err(LookupError::Drained { .. })).then_some(())
    })
    .await;
    holds(Duration::from_millis(500), "it runs nowhere", || async { oracle.runner("2") }).await;
    assert!(executors.iter().all(|executor| executor.owns("2").is_none()));
    undrain_shard(&cluster, "orders", "2").await;
    running(&oracle, &spectator, 4).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_ephemeral_shard_is_not_made_again_by_asking() {
    let queues = Fixture::ephemeral("queues").quick();
    let (cluster, oracle) = (Cluster::start([queues]).await.unwrap(), Oracle::new());
    let _executors = workers(&cluster, "queues", &["a"], &oracle).await;
    let spectator = cluster.spectator("queues").await.unwrap();
    spectator.lookup("k").await.unwrap();
    running(&oracle, &spectator, 1).await;
    drain_shard(&cluster, "queues", "k").await;
    eventually(SOON, "it runs nowhere", || async { oracle.runner("k").is_none().then_some(()) })
        .await;
    for _ in 0..10 {
        let drained = spectator.lookup_fresh("k").await.unwrap_err();
        assert!(matches!(drained, LookupError::Drained { .. }), "{drained:?}");
    }
    assert_eq!(oracle.runs().len(), 1);
}
