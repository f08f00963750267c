//! Heartbeats: what a Go executor is told, and when.

use plimsoll_testkit::{Cluster, Fixture, Oracle, SOON, eventually};
use plimsoll_wire::sharddistributor as go;

use crate::common::{api, beat_until, executor, good, heartbeat, owner_request};

#[tokio::test]
async fn the_last_shard_is_named_invalid_until_it_is_not_reported_any_more() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let mut gopher = executor(&cluster, "orders", "a@1");
    beat_until(&mut gopher, 1).await;
    gopher.beat().await.unwrap();
    drain(&cluster, "orders", "0").await;

    // It has not heard yet and reports the shard: the answer names it, again
    // and again, since an empty map would change nothing in a Go client.
    let request = gopher.request(go::ExecutorStatus::Active);
    assert!(request.shard_status_reports.contains_key("0"));
    for _ in 0..3 {
        let reply = gopher.beat_raw(&request).await.unwrap();
        let assignments = good(&reply).message_map(1);
        assert_eq!(assignments.len(), 1, "{assignments:?}");
        assert_eq!((assignments[0].0.as_str(), assignments[0].1.integer(1)), ("0", 0));
    }
    gopher.beat().await.unwrap();
    assert!(gopher.shards().is_empty(), "it has stopped");
    // That beat came after the stop: from now on there is nothing to say.
    let last = gopher.beat().await.unwrap();
    let end = eventually(SOON, "nothing is assigned", || {
        std::future::ready(Some(last.shard_assignments.clone()))
    });
    assert!(end.await.is_empty() || gopher.beat().await.unwrap().shard_assignments.is_empty());
}

#[tokio::test]
async fn a_shard_moves_to_the_next_executor_only_when_the_first_has_dropped_it() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let oracle = Oracle::new();
    let mut first = executor(&cluster, "orders", "a@1").told_to(&oracle);
    beat_until(&mut first, 1).await;
    first.beat().await.unwrap();
    let mut second = executor(&cluster, "orders", "b@1").told_to(&oracle);
    second.beat().await.unwrap();
    drain_host(&cluster, "orders", "a").await;

    // The first has not beaten since: the second must not get it.
    for _ in 0..5 {
        second.beat().await.unwrap();
        assert!(second.shards().is_empty());
    }
    first.beat().await.unwrap();
    assert!(first.shards().is_empty(), "it was told to stop");
    first.beat().await.unwrap();
    beat_until(&mut second, 1).await;
    oracle.assert_clean();
}

#[tokio::test]
async fn what_is_still_starting_is_not_taken_for_stopped() {
    let orders = Fixture::fixed("orders", 1).quick().set("heartbeat_ttl", "5s");
    let cluster = Cluster::start([orders]).await.unwrap();
    let oracle = Oracle::new();
    let mut first = executor(&cluster, "orders", "a@1").told_to(&oracle);
    first.slow_start = true;
    beat_until(&mut first, 1).await;
    let mut second = executor(&cluster, "orders", "b@1").told_to(&oracle);
    second.beat().await.unwrap();
    drain_host(&cluster, "orders", "a").await;
    // It reports nothing, since its start takes long, and its answers are lost.
    let request = first.request(go::ExecutorStatus::Active);
    assert!(request.shard_status_reports.is_empty());
    for _ in 0..5 {
        first.beat_raw(&request).await.unwrap();
        second.beat().await.unwrap();
        assert!(second.shards().is_empty(), "the first may be starting it");
    }
    oracle.assert_clean();
}

#[tokio::test]
async fn an_owner_told_to_a_caller_is_in_that_owners_next_heartbeat() {
    let cluster = Cluster::start([Fixture::ephemeral("queues").quick()]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let mut gophers =
        vec![executor(&cluster, "queues", "a@1"), executor(&cluster, "queues", "b@1")];
    for gopher in &mut gophers {
        gopher.beat().await.unwrap();
    }
    for n in 0..50 {
        let key = format!("task-list-{n}");
        let request = owner_request("queues", &key);
        let reply = client.call(&api("GetShardOwner"), &request).await.unwrap();
        let owner = good(&reply).text(1);
        let gopher = gophers.iter_mut().find(|gopher| gopher.id == owner).unwrap();
        let answer = gopher.beat().await.unwrap();
        assert_eq!(answer.shard_assignments[&key].status(), go::AssignmentStatus::Ready);
    }
}

#[tokio::test]
async fn the_migration_mode_is_four_in_every_answer() {
    let cluster = Cluster::start([Fixture::fixed("orders", 2).quick()]).await.unwrap();
    let mut gopher = executor(&cluster, "orders", "a@1");
    let statuses = [
        go::ExecutorStatus::Active,
        go::ExecutorStatus::Invalid,
        go::ExecutorStatus::Draining,
        go::ExecutorStatus::Drained,
    ];
    for status in statuses {
        let request = gopher.request(status);
        let reply = gopher.beat_raw(&request).await.unwrap();
        assert_eq!(good(&reply).integer(2), 4, "{status:?}");
    }
}

#[tokio::test]
async fn a_draining_heartbeat_gives_everything_away_at_once() {
    let cluster = Cluster::start([Fixture::fixed("orders", 8).quick()]).await.unwrap();
    let oracle = Oracle::new();
    let mut first = executor(&cluster, "orders", "a@1").told_to(&oracle);
    beat_until(&mut first, 8).await;
    let mut second = executor(&cluster, "orders", "b@1").told_to(&oracle);
    second.beat().await.unwrap();
    first.stop().await.unwrap();
    beat_until(&mut second, 8).await;
    oracle.assert_clean();
}

#[tokio::test]
async fn a_silent_executor_loses_its_shards_after_the_heartbeat_ttl_and_not_before() {
    let cluster = Cluster::start([Fixture::fixed("orders", 4).quick()]).await.unwrap();
    let oracle = Oracle::new();
    let mut first = executor(&cluster, "orders", "a@1").told_to(&oracle);
    beat_until(&mut first, 4).await;
    let mut second = executor(&cluster, "orders", "b@1").told_to(&oracle);
    second.beat().await.unwrap();
    let died_at = tokio::time::Instant::now();
    first.beat().await.unwrap();
    let held = first.shards().len();
    first.die();
    beat_until(&mut second, 4).await;
    assert!(held > 0 && died_at.elapsed() >= std::time::Duration::from_secs(1));
    oracle.assert_clean();
}

#[tokio::test]
async fn a_done_shard_vanishes_and_only_its_owner_can_say_so() {
    let cluster = Cluster::start([Fixture::ephemeral("queues").quick()]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let mut owner = executor(&cluster, "queues", "a@1");
    owner.beat().await.unwrap();
    let request = owner_request("queues", "k");
    client.call(&api("GetShardOwner"), &request).await.unwrap();
    beat_until(&mut owner, 1).await;

    let mut stranger = executor(&cluster, "queues", "b@1");
    let mut lie = stranger.request(go::ExecutorStatus::Active);
    let done = go::ShardStatusReport { status: go::ShardStatus::Done.into(), shard_load: 0.0 };
    lie.shard_status_reports.insert("k".to_owned(), done);
    assert_eq!(stranger.beat_raw(&lie).await.unwrap().code(), 0);
    let reply = client.call(&api("InspectShard"), &request).await.unwrap();
    assert_eq!(good(&reply).text(1), "a@1");

    owner.done("k");
    beat_until(&mut owner, 0).await;
    owner.beat().await.unwrap();
    eventually(SOON, "the shard is gone", || async {
        let reply = client.call(&api("InspectShard"), &request).await.unwrap();
        (reply.code() == 5).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_stranger_that_reports_a_shard_is_told_to_stop_it() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let mut owner = executor(&cluster, "orders", "a@1");
    beat_until(&mut owner, 1).await;
    let mut zombie = executor(&cluster, "orders", "z@1");
    let mut request = zombie.request(go::ExecutorStatus::Active);
    request.shard_status_reports.insert("0".to_owned(), go::ShardStatusReport::default());
    let reply = zombie.beat_raw(&request).await.unwrap();
    let assignments = good(&reply).message_map(1);
    assert_eq!((assignments[0].0.as_str(), assignments[0].1.integer(1)), ("0", 0));
}

#[tokio::test]
async fn labels_that_an_executor_drops_are_dropped() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1).quick()]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let mut gopher = executor(&cluster, "orders", "a@1");
    gopher.metadata.insert("old".to_owned(), "1".to_owned());
    beat_until(&mut gopher, 1).await;
    gopher.metadata.remove("old");
    gopher.beat().await.unwrap();
    let request = owner_request("orders", "0");
    let reply = client.call(&api("GetShardOwner"), &request).await.unwrap();
    let address = ("grpc_address".to_owned(), "a@1.test:1".to_owned());
    assert_eq!(good(&reply).map(3), [address]);
}

#[tokio::test]
async fn the_first_heartbeat_without_shards_is_answered_with_no_assignment() {
    let cluster = Cluster::start([Fixture::ephemeral("queues")]).await.unwrap();
    let mut gopher = executor(&cluster, "queues", "a@1");
    let request = gopher.request(go::ExecutorStatus::Active);
    let reply = gopher.beat_raw(&request).await.unwrap();
    assert_eq!(good(&reply).numbers(), [2], "only the migration mode");
    assert_eq!(
        heartbeat(),
        "/uber.cadence.sharddistributor.v1.ShardDistributorExecutorAPI/Heartbeat"
    );
}

async fn drain(cluster: &Cluster, namespace: &str, shard: &str) {
    let client = cluster.go().await.unwrap();
    let (namespace, shard_keys) = (namespace.to_owned(), vec![shard.to_owned()]);
    let request = go::DrainShardsRequest { namespace, shard_keys };
    assert_eq!(client.call(&api("DrainShards"), &request).await.unwrap().code(), 0);
}

async fn drain_host(cluster: &Cluster, namespace: &str, host: &str) {
    let client = cluster.go().await.unwrap();
    let host = go::DrainedHost { hostname: host.to_owned(), ..go::DrainedHost::default() };
    let request = go::DrainHostsRequest { namespace: namespace.to_owned(), hosts: vec![host] };
    assert_eq!(client.call(&api("DrainHosts"), &request).await.unwrap().code(), 0);
}
