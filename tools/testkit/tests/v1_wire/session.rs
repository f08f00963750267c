//! `ExecutorService.Session`.

use std::time::Duration;

use plimsoll_testkit::session::{Session, beat, hello, stopped};
use plimsoll_testkit::{Cluster, Fixture, SOON, eventually, within};
use plimsoll_wire::v1;
use plimsoll_wire::v1::farewell::Reason;
use plimsoll_wire::v1::session_request::Message as Say;
use plimsoll_wire::v1::session_response::Message as Hear;
use tonic::Code;

#[tokio::test]
async fn a_hello_is_welcomed_and_grants_are_pushed_with_generations() {
    let cluster = orders(4).await;
    let mut session = open(&cluster, "a").await;
    let welcome = session.welcome().await.unwrap();
    assert_eq!((welcome.lease_ms, welcome.beat_ms, welcome.grants.len()), (1000, 100, 0));
    let grants = session.grants(4).await.unwrap();
    let mut keys: Vec<_> = grants.iter().map(|grant| grant.shard_key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["0", "1", "2", "3"]);
    let mut generations: Vec<_> = grants.iter().map(|grant| grant.generation).collect();
    generations.sort_unstable();
    generations.dedup();
    assert!(generations.len() == 4 && generations[0] > 0);
}

#[tokio::test]
async fn beats_are_acknowledged_in_order_and_loads_are_deltas() {
    let cluster = orders(2).await;
    let mut session = open(&cluster, "a").await;
    session.welcome().await.unwrap();
    session.grants(2).await.unwrap();
    session.say(beat(1, &[("0", 3.0), ("1", 1.0)]));
    session.say(beat(2, &[("1", 1.0)]));
    for expected in [1, 2] {
        assert_eq!(
            session.hear().await.ok(),
            Some(Hear::BeatAck(v1::BeatAck { sequence: expected }))
        );
    }
    let request = v1::GetLoadsRequest {
        namespace: "orders".to_owned(),
        all_shards: true,
        ..v1::GetLoadsRequest::default()
    };
    let loads = cluster.admin().get_loads(request).await.unwrap().into_inner();
    let load = |key: &str| loads.shards.iter().find(|it| it.shard_key == key)?.smoothed_load;
    assert_eq!((load("0"), load("1")), (Some(3.0), Some(1.0)));
    assert_eq!(loads.executors[0].protocol, "session");
}

#[tokio::test]
async fn a_shard_goes_to_another_only_after_its_stop_was_confirmed() {
    let cluster = orders(1).await;
    let mut first = open(&cluster, "a").await;
    first.welcome().await.unwrap();
    let grant = first.grants(1).await.unwrap().remove(0);
    let mut second = open(&cluster, "b").await;
    second.welcome().await.unwrap();
    drain_host(&cluster, "a").await;
    let revocation = first.revocation().await.unwrap();
    assert_eq!(revocation.generation, grant.generation);
    assert_eq!(revocation.shard_key, "0");
    assert!(!revocation.reason.is_empty());

    // Two answers to beats later there is still no grant.
    for sequence in [1, 2] {
        second.say(beat(sequence, &[]));
        assert_eq!(second.hear().await.ok(), Some(Hear::BeatAck(v1::BeatAck { sequence })));
    }
    first.say(stopped(&revocation));
    let granted = second.grants(1).await.unwrap().remove(0);
    assert!(granted.generation > grant.generation);
}

#[tokio::test]
async fn a_drained_shard_is_revoked_at_once() {
    let cluster = orders(1).await;
    let mut session = open(&cluster, "a").await;
    session.welcome().await.unwrap();
    session.grants(1).await.unwrap();
    let request = v1::DrainShardsRequest {
        namespace: "orders".to_owned(),
        shard_keys: vec!["0".to_owned()],
        ..v1::DrainShardsRequest::default()
    };
    cluster.admin().drain_shards(request).await.unwrap();
    let revocation = session.revocation().await.unwrap();
    assert_eq!(revocation.reason, "shard-drain");
}

#[tokio::test]
async fn a_silent_session_is_told_that_its_lease_has_run_out() {
    let cluster = orders(1).await;
    let mut session = open(&cluster, "a").await;
    session.welcome().await.unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(session.farewell().await.unwrap(), Reason::Expired);
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    assert_eq!(session.hear().await.err().map(|status| status.is_none()), Some(true));
}

#[tokio::test]
async fn a_later_session_of_the_same_id_replaces_the_first() {
    let cluster = orders(2).await;
    let mut first = open(&cluster, "a").await;
    first.welcome().await.unwrap();
    let grants = first.grants(2).await.unwrap();
    let mut again = hello("orders", "a");
    again.running = grants.iter().map(running).collect();
    let mut second = Session::open(cluster.executors(), again).await.unwrap();
    let welcome = second.welcome().await.unwrap();
    assert_eq!(first.farewell().await.unwrap(), Reason::Replaced);
    let same = |grant: &v1::Grant| grants.contains(grant);
    assert!(welcome.grants.len() == 2 && welcome.grants.iter().all(same), "{welcome:?}");
}

#[tokio::test]
async fn a_process_that_came_back_empty_gets_its_shards_under_new_generations() {
    let cluster = orders(1).await;
    let mut first = open(&cluster, "a").await;
    first.welcome().await.unwrap();
    let grant = first.grants(1).await.unwrap().remove(0);
    let mut second = open(&cluster, "a").await;
    assert_eq!(second.welcome().await.unwrap().grants, []);
    let anew = second.grants(1).await.unwrap().remove(0);
    assert!(anew.generation > grant.generation);
}

#[tokio::test]
async fn a_hello_that_was_overtaken_by_a_later_one_changes_nothing() {
    let cluster = orders(1).await;
    let hello_of = |attempt| v1::Hello { attempt, ..hello("orders", "a") };
    let mut later = Session::open(cluster.executors(), hello_of(9)).await.unwrap();
    later.welcome().await.unwrap();
    let mut earlier = Session::open(cluster.executors(), hello_of(8)).await.unwrap();
    earlier.farewell().await.unwrap();
    later.grants(1).await.unwrap();
}

#[tokio::test]
async fn a_goodbye_is_confirmed_and_frees_everything_at_once() {
    let cluster = Cluster::start([Fixture::fixed("orders", 4).lease("30s")]).await.unwrap();
    let mut first = open(&cluster, "a").await;
    first.welcome().await.unwrap();
    first.grants(4).await.unwrap();
    let mut second = open(&cluster, "b").await;
    second.welcome().await.unwrap();
    first.say(Say::Goodbye(v1::Goodbye::default()));
    assert_eq!(first.farewell().await.unwrap(), Reason::Goodbye);
    second.grants(4).await.unwrap();
}

#[tokio::test]
async fn a_shard_that_its_owner_stopped_because_it_heard_nothing_is_granted_to_it_again() {
    // An executor that fenced itself while the server stood still says so on the
    // same stream once the server runs again.
    let cluster = orders(1).await;
    let mut owner = open(&cluster, "a").await;
    owner.welcome().await.unwrap();
    let grant = owner.grants(1).await.unwrap().remove(0);
    let mut other = open(&cluster, "b").await;
    other.welcome().await.unwrap();
    let v1::Grant { shard_key, generation, .. } = grant;
    owner.say(Say::Stopped(v1::Stopped { shard_key, generation, ..v1::Stopped::default() }));
    let anew = owner.grants(1).await.unwrap().remove(0);
    assert!(anew.generation > generation);
}

#[tokio::test]
async fn a_leaving_executor_is_asked_for_its_shards_and_goes_on_meanwhile() {
    let cluster = orders(1).await;
    let mut first = open(&cluster, "a").await;
    first.welcome().await.unwrap();
    first.grants(1).await.unwrap();
    let mut second = open(&cluster, "b").await;
    second.welcome().await.unwrap();
    first.say(Say::Leaving(v1::Leaving {}));
    let revocation = first.revocation().await.unwrap();
    first.say(stopped(&revocation));
    second.grants(1).await.unwrap();
}

#[tokio::test]
async fn bad_loads_end_the_session_with_the_name_of_the_shard_and_cost_no_shard() {
    let cluster = orders(1).await;
    for (n, load) in [f64::NAN, f64::INFINITY, -1.0].into_iter().enumerate() {
        let mut session = open(&cluster, &format!("a{n}")).await;
        session.welcome().await.unwrap();
        session.say(beat(1, &[("0", load)]));
        let status = loop {
            if let Err(status) = session.hear().await {
                break status.unwrap();
            }
        };
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("\"0\""), "{status}");
    }
}

#[tokio::test]
async fn bad_hellos_are_refused() {
    let cluster = orders(1).await;
    let long = "x".repeat(257);
    let base = || hello("orders", "a");
    let held = v1::Holding { shard_key: "x".repeat(1025), generation: 1, stopping: false };
    for (bad, code) in [
        (v1::Hello { namespace: "nowhere".into(), ..base() }, Code::NotFound),
        (v1::Hello { executor_id: String::new(), ..base() }, Code::InvalidArgument),
        (v1::Hello { executor_id: "a/b".into(), ..base() }, Code::InvalidArgument),
        (v1::Hello { executor_id: long, ..base() }, Code::InvalidArgument),
        (v1::Hello { host: String::new(), ..base() }, Code::InvalidArgument),
        (v1::Hello { host: "a@b".into(), ..base() }, Code::InvalidArgument),
        (v1::Hello { running: vec![held], ..base() }, Code::InvalidArgument),
    ] {
        let status = Session::open(cluster.executors(), bad.clone()).await.unwrap_err();
        assert_eq!(status.code(), code, "{bad:?}");
    }
}

#[tokio::test]
async fn a_second_hello_on_one_session_is_refused() {
    let cluster = orders(1).await;
    let mut session = open(&cluster, "a").await;
    session.welcome().await.unwrap();
    session.say(Say::Hello(hello("orders", "a")));
    let status = loop {
        if let Err(status) = session.hear().await {
            break status.unwrap();
        }
    };
    assert_eq!(status.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_done_shard_is_revoked_and_vanishes() {
    let cluster = Cluster::start([Fixture::ephemeral("queues").quick()]).await.unwrap();
    let hello = hello("queues", "a");
    let mut session = Session::open(cluster.executors(), hello).await.unwrap();
    session.welcome().await.unwrap();
    let lookup = v1::LookupRequest { namespace: "queues".into(), shard_key: "k".into() };
    let found = cluster.routing().lookup(lookup).await.unwrap().into_inner();
    let grant = session.grants(1).await.unwrap().remove(0);
    assert_eq!(found.generation, grant.generation);
    let v1::Grant { shard_key, generation, .. } = grant;
    session.say(Say::Done(v1::Done { shard_key, generation }));
    let revocation = session.revocation().await.unwrap();
    assert_eq!(revocation.reason, "done");
    session.say(stopped(&revocation));
    eventually(SOON, "no shard is left", || async {
        (cluster.describe("queues").await.unwrap().shards == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn sessions_of_a_deleted_namespace_are_told_so() {
    let cluster = orders(1).await;
    let mut session = open(&cluster, "a").await;
    session.welcome().await.unwrap();
    let name = "orders".to_owned();
    cluster.admin().delete_namespace(v1::DeleteNamespaceRequest { name }).await.unwrap();
    assert_eq!(session.farewell().await.unwrap(), Reason::NamespaceDeleted);
}

#[tokio::test]
async fn sessions_of_a_server_that_leaves_are_told_to_go_elsewhere() {
    let mut cluster = orders(1).await;
    let mut session = open(&cluster, "a").await;
    session.welcome().await.unwrap();
    within(Duration::from_secs(2), cluster.stop()).await;
    assert_eq!(session.farewell().await.unwrap(), Reason::ServerLeaving);
}

async fn orders(shards: u64) -> Cluster {
    Cluster::start([Fixture::fixed("orders", shards).quick()]).await.unwrap()
}

async fn open(cluster: &Cluster, executor: &str) -> Session {
    Session::open(cluster.executors(), hello("orders", executor)).await.unwrap()
}

async fn drain_host(cluster: &Cluster, host: &str) {
    use plimsoll_wire::sharddistributor as go;
    let host = go::DrainedHost { hostname: host.to_owned(), ..go::DrainedHost::default() };
    let request = go::DrainHostsRequest { namespace: "orders".to_owned(), hosts: vec![host] };
    let path = format!("{}/DrainHosts", plimsoll_testkit::go::API);
    assert_eq!(cluster.go().await.unwrap().call(&path, &request).await.unwrap().code(), 0);
}

fn running(grant: &v1::Grant) -> v1::Holding {
    let v1::Grant { shard_key, generation, .. } = grant.clone();
    v1::Holding { shard_key, generation, stopping: false }
}
