//! A server that is away for a while.

use std::time::Duration;

use plimsoll_testkit::go::GoExecutor;
use plimsoll_testkit::{Cluster, Fixture, Oracle, SOON, eventually, holds};

use crate::common::{running, workers};

#[tokio::test(flavor = "multi_thread")]
async fn spectators_and_executors_carry_on_while_the_server_is_away() {
    let orders = Fixture::fixed("orders", 12).quick().lease("5s");
    let (mut cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let executors = workers(&cluster, "orders", &["a", "b"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 12).await;
    let before = owners(&spectator);
    cluster.stop().await;
    let owned = || executors.iter().map(|executor| executor.shards().len()).sum::<usize>();
    holds(Duration::from_secs(1), "what is known and run", || async {
        (owners(&spectator), owned())
    })
    .await;
    assert_eq!(owned(), 12);
    let age = spectator.age().unwrap();
    assert!(age >= Duration::from_millis(900), "the map says how old it is: {age:?}");
    cluster.resume().await;
    eventually(SOON, "the map is fresh", || async { (spectator.age()? < age).then_some(()) }).await;
    assert_eq!(owners(&spectator), before);
    assert_eq!(oracle.runs().len(), 12);
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_that_cannot_reach_the_server_stops_by_itself_before_its_lease_ends() {
    let orders = Fixture::fixed("orders", 6).quick();
    let (mut cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let executors = workers(&cluster, "orders", &["a"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 6).await;
    let gone_at = tokio::time::Instant::now();
    cluster.stop().await;
    eventually(SOON, "everything has stopped", || async {
        oracle.running().is_empty().then_some(())
    })
    .await;
    let last = oracle.runs().iter().filter_map(|run| run.to).max().unwrap() - gone_at;
    assert!(last < Duration::from_millis(1000), "{last:?} of a lease of 1 s");
    assert!(executors[0].shards().is_empty());
    // It comes back by itself when the server does.
    cluster.resume().await;
    running(&oracle, &spectator, 6).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_forgets_moves_nothing_when_sessions_and_heartbeats_come_back() {
    let orders = Fixture::fixed("orders", 16).quick().lease("3s");
    let mut cluster = Cluster::start_in_memory([orders]).await.unwrap();
    let oracle = Oracle::new();
    let _executors = workers(&cluster, "orders", &["a", "b"], &oracle).await;
    let _gopher = GoExecutor::new(cluster.grpc(), "orders", "go@1")
        .told_to(&oracle)
        .beating(Duration::from_millis(50));
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 16).await;
    let freeze = plimsoll_wire::v1::FreezeBalanceRequest { namespace: "orders".into() };
    cluster.admin().freeze_balance(freeze).await.unwrap();
    running(&oracle, &spectator, 16).await;
    let (before, starts) = (oracle.running(), oracle.runs().len());
    assert!(oracle.count("go@1") > 0);
    cluster.stop().await;
    cluster.resume().await;
    eventually(SOON, "the server has stopped waiting", || async {
        let it = cluster.describe("orders").await.unwrap();
        (it.conditions.is_empty() && it.shards_without_owner == 0).then_some(())
    })
    .await;
    running(&oracle, &spectator, 16).await;
    assert_eq!(oracle.running(), before);
    assert_eq!(oracle.runs().len(), starts, "a shard was started again");
    oracle.assert_clean();
}

fn owners(spectator: &plimsoll_client::Spectator) -> Vec<Option<(String, u64)>> {
    let owner = |n: u32| {
        let owner = spectator.try_lookup(&n.to_string())?;
        Some((owner.executor_id().to_owned(), owner.generation()))
    };
    (0..12).map(owner).collect()
}
