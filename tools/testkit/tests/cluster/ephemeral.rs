//! Shards that are made by the first who asks.

use std::collections::BTreeMap;

use futures::future::join_all;
use plimsoll_testkit::{Cluster, Fixture, Oracle, SOON, eventually, soon};
use plimsoll_wire::v1;

use crate::common::{running, workers};

#[tokio::test(flavor = "multi_thread")]
async fn many_who_ask_at_once_for_one_new_shard_are_told_the_same_owner() {
    let queues = Fixture::ephemeral("queues").quick();
    let (cluster, oracle) = (Cluster::start([queues]).await.unwrap(), Oracle::new());
    let _executors = workers(&cluster, "queues", &["a", "b", "c"], &oracle).await;
    let client = cluster.routing();
    for key in ["one", "two", "three"] {
        let ask = async |_: usize| {
            let request = v1::LookupRequest { namespace: "queues".into(), shard_key: key.into() };
            let found = client.clone().lookup(request).await.unwrap().into_inner();
            (found.executor_id, found.generation)
        };
        let mut answers = soon(join_all((0..100).map(ask))).await;
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
    }
    eventually(SOON, "all three run", || async { (oracle.running().len() == 3).then_some(()) })
        .await;
    assert_eq!(oracle.runs().len(), 3);
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_new_shards_are_spread_and_every_answer_is_true() {
    let queues = Fixture::ephemeral("queues").quick();
    let (cluster, oracle) = (Cluster::start([queues]).await.unwrap(), Oracle::new());
    let _executors = workers(&cluster, "queues", &["a", "b", "c", "d"], &oracle).await;
    let spectator = cluster.spectator("queues").await.unwrap();
    let ask = async |n: usize| {
        let key = format!("q-{n}");
        let owner = spectator.lookup(&key).await.unwrap();
        (key, owner.executor_id().to_owned())
    };
    let told: BTreeMap<_, _> = soon(join_all((0..1000).map(ask))).await.into_iter().collect();
    running(&oracle, &spectator, 1000).await;
    assert_eq!(oracle.running(), told);
    for id in ["a", "b", "c", "d"] {
        assert!(oracle.count(id) > 150, "{id}: {}", oracle.count(id));
    }
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_its_owner_reports_done_vanishes_and_can_be_made_again() {
    let queues = Fixture::ephemeral("queues").quick();
    let (cluster, oracle) = (Cluster::start([queues]).await.unwrap(), Oracle::new());
    let executors = workers(&cluster, "queues", &["a"], &oracle).await;
    let spectator = cluster.spectator("queues").await.unwrap();
    let first = spectator.lookup("k").await.unwrap();
    eventually(SOON, "it runs", || async { executors[0].owns("k").map(|_| ()) }).await;
    executors[0].done("k");
    eventually(SOON, "it is gone from everywhere", || async {
        let gone = oracle.running().is_empty() && spectator.is_empty();
        (gone && cluster.describe("queues").await.unwrap().shards == 0).then_some(())
    })
    .await;
    let second = spectator.lookup_fresh("k").await.unwrap();
    assert!(second.generation() > first.generation());
    running(&oracle, &spectator, 1).await;
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_no_executor_a_lookup_fails_in_time_and_leaves_nothing_behind() {
    let queues = Fixture::ephemeral("queues").quick();
    let cluster = Cluster::start([queues]).await.unwrap();
    let spectator = cluster.spectator("queues").await.unwrap();
    soon(spectator.lookup("k")).await.unwrap_err();
    eventually(SOON, "no shard is left", || async {
        (cluster.describe("queues").await.unwrap().shards == 0).then_some(())
    })
    .await;
}
