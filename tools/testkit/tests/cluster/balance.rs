//! Load decides where shards go, unless an operator holds it.

use std::time::Duration;

use plimsoll_testkit::{Cluster, Fixture, Oracle, SOON, Worker, eventually, holds};
use plimsoll_wire::v1;

use crate::common::{at_rest, running, workers};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn greedy_evens_out_what_a_snapshot_left_uneven() {
    let (cluster, oracle) = (Cluster::start([]).await.unwrap(), Oracle::new());
    create_uneven(&cluster).await;
    let _executors = loaded(&cluster, &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 64).await;
    let before = measured(&cluster).await;
    assert!(before.max_over_mean > 2.0, "{before:?}");
    let namespace = "orders".to_owned();
    cluster.admin().resume_balance(v1::ResumeBalanceRequest { namespace }).await.unwrap();
    eventually(LONG, "the load is even", || async {
        let balance = measured(&cluster).await;
        (balance.max_over_mean < 1.2).then_some(())
    })
    .await;
    at_rest(&cluster, "orders").await;
    running(&oracle, &spectator, 64).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_moves_for_balance_while_it_is_frozen_but_lost_shards_do() {
    let (cluster, oracle) = (Cluster::start([]).await.unwrap(), Oracle::new());
    create_uneven(&cluster).await;
    let executors = loaded(&cluster, &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 64).await;
    measured(&cluster).await;
    // Some ten cycles.
    holds(Duration::from_secs(1), "who runs what", || async { oracle.running() }).await;
    let conditions = cluster.describe("orders").await.unwrap().conditions;
    assert!(conditions.iter().any(|it| it.contains("frozen")), "{conditions:?}");
    executors[0].shutdown().await.unwrap();
    assert_eq!(oracle.count("a"), 0);
    running(&oracle, &spectator, 64).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_executor_gets_work_and_a_leaving_one_gives_it_away() {
    let orders = Fixture::fixed("orders", 40)
        .quick()
        .set("load_balancing_mode", "greedy")
        .set("load_balancing_greedy.per_shard_cooldown", "0s")
        .set("load_balancing_greedy.move_budget_proportion", "0.2");
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let first = workers(&cluster, "orders", &["a", "b"], &oracle).await;
    let spectator = cluster.spectator("orders").await.unwrap();
    running(&oracle, &spectator, 40).await;
    let _second = workers(&cluster, "orders", &["c"], &oracle).await;
    eventually(LONG, "the new one carries its part", || async {
        (oracle.count("c") >= 8).then_some(())
    })
    .await;
    first[0].shutdown().await.unwrap();
    assert_eq!(oracle.count("a"), 0);
    running(&oracle, &spectator, 40).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn new_shards_are_placed_by_load_and_not_by_count() {
    let queues = Fixture::ephemeral("queues").quick();
    let (cluster, oracle) = (Cluster::start([queues]).await.unwrap(), Oracle::new());
    // An empty host is given a shard by balance: here it might be the heavy one.
    let freeze = v1::FreezeBalanceRequest { namespace: "queues".into() };
    cluster.admin().freeze_balance(freeze).await.unwrap();
    let url = cluster.url();
    let heavy = |shard: &str| Some(if shard == "heavy" { 1000.0 } else { 1.0 });
    let a = Worker::new("a", &oracle).load(heavy).run(&url, "queues").await.unwrap();
    let spectator = cluster.spectator("queues").await.unwrap();
    spectator.lookup("heavy").await.unwrap();
    let _b = Worker::new("b", &oracle).load(heavy).run(&url, "queues").await.unwrap();
    for n in 0..9 {
        spectator.lookup(&format!("first-{n}")).await.unwrap();
    }
    eventually(SOON, "everything is measured", || async {
        let request =
            v1::GetLoadsRequest { namespace: "queues".into(), ..v1::GetLoadsRequest::default() };
        let balance = cluster.admin().get_loads(request).await.unwrap().into_inner().balance;
        (balance.unwrap().measured >= 1.0).then_some(())
    })
    .await;
    // By count they would go to both in turn.
    let before = a.shards().len();
    for n in 0..3 {
        let owner = spectator.lookup(&format!("later-{n}")).await.unwrap();
        assert_eq!(owner.executor_id(), "b");
    }
    assert_eq!(a.shards().len(), before);
}

/// 64 shards, all but eight of them on the first of four.
async fn create_uneven(cluster: &Cluster) {
    let owner = |n: u32| if n < 56 { "a" } else { ["b", "c", "d"][n as usize % 3] };
    let grant =
        |n: u32| v1::InitialGrant { shard_key: n.to_string(), executor_id: owner(n).to_owned() };
    let settings = [
        ("lease", "2s"),
        ("beat", "100ms"),
        ("period", "100ms"),
        ("rebalance_cooldown", "50ms"),
        ("load_balancing_mode", "greedy"),
        ("load_balancing_greedy.per_shard_cooldown", "1s"),
        ("load_balancing_greedy.move_budget_proportion", "0.1"),
        ("load_balancing_greedy.load_smoothing_time_constant", "1s"),
        // Whoever is below the mean may take: with the default of 0.9 this
        // snapshot ends at 1.26, in line with the algorithm.
        ("load_balancing_greedy.hysteresis_lower_band", "1"),
    ];
    let text = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let request = v1::CreateNamespaceRequest {
        name: "orders".to_owned(),
        r#type: "fixed".to_owned(),
        shard_num: 64,
        settings: settings.map(text).into(),
        initial_grants: (0..64).map(grant).collect(),
        frozen: true,
    };
    cluster.admin().create_namespace(request).await.unwrap();
}

async fn loaded(
    cluster: &Cluster,
    oracle: &std::sync::Arc<Oracle>,
) -> Vec<plimsoll_client::Executor> {
    let url = &cluster.url();
    let load = |shard: &str| shard.parse::<f64>().ok().map(|n| 1.0 + n % 7.0);
    let start = async |id| Worker::new(id, oracle).load(load).run(url, "orders").await;
    futures::future::try_join_all(["a", "b", "c", "d"].map(start)).await.unwrap()
}

/// The balance once every load is known.
async fn measured(cluster: &Cluster) -> v1::Balance {
    eventually(SOON, "every load is known", || async {
        let balance = cluster.describe("orders").await.unwrap().balance.unwrap();
        (balance.measured >= 1.0).then_some(balance)
    })
    .await
}
