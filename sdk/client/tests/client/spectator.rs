use std::time::Duration;

use plimsoll_client::{ConnectError, LookupError, Owner, Spectator, SpectatorBuilder};
use plimsoll_wire::v1::watch_response::Message as News;
use plimsoll_wire::v1::{Delta, KeepAlive, Route, RoutedExecutor, Snapshot, WatchRequest};
use tonic::{Code, Status};

use crate::fake::{Fake, Watch, address_of, soon};

#[tokio::test]
async fn a_known_key_costs_no_call() {
    let mut set = Set::up(&[("1", "a", 7)]).await;
    let owner = set.spectator.lookup("1").await.unwrap();
    assert_eq!((owner.executor_id(), owner.generation()), ("a", 7));
    assert_eq!(owner.address(), Some("a:80"));
    assert_eq!(set.spectator.try_lookup("1"), Some(owner));
    assert!(set.fake.was_not_asked());
    assert!(set.spectator.age().is_some());
    let executors = set.spectator.executors();
    assert_eq!(executors.iter().map(|executor| &*executor.id).collect::<Vec<_>>(), ["a"]);
}

#[tokio::test]
async fn a_delta_changes_the_map_and_is_announced() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let mut changes = set.spectator.changes();
    changes.mark_unchanged();
    set.watch.say(moved(1, "1", "b", 8));
    soon(changes.changed()).await.unwrap();
    assert_eq!(*changes.borrow(), 2);
    assert_eq!(who(&set.spectator, "1"), Some("b".to_owned()));
}

#[tokio::test]
async fn a_watch_goes_on_from_where_it_broke() {
    let mut set = Set::up(&[("1", "a", 7)]).await;
    drop(set.watch);
    let watch = set.fake.watch().await;
    assert_eq!(watch.request, request("epoch", 1));
    let mut changes = set.spectator.changes();
    changes.mark_unchanged();
    watch.say(moved(1, "1", "b", 8));
    soon(changes.changed()).await.unwrap();
    assert_eq!(who(&set.spectator, "1"), Some("b".to_owned()));
}

#[tokio::test]
async fn a_gap_is_healed_by_a_whole_snapshot() {
    let mut set = Set::up(&[("1", "a", 7)]).await;
    set.watch.say(moved(5, "1", "b", 8));
    let watch = set.fake.watch().await;
    assert_eq!(watch.request, request("", 0));
    assert_eq!(who(&set.spectator, "1"), Some("a".to_owned()), "the map is served meanwhile");
    let mut changes = set.spectator.changes();
    changes.mark_unchanged();
    watch.say(snapshot("later", 6, &[("1", "c", 9)]));
    soon(changes.changed()).await.unwrap();
    assert_eq!(who(&set.spectator, "1"), Some("c".to_owned()));
    drop(watch);
    assert_eq!(set.fake.watch().await.request, request("later", 6));
}

#[tokio::test]
async fn a_server_that_just_started_takes_no_address_away() {
    let mut set = Set::up(&[("1", "a", 7)]).await;
    drop(set.watch);
    let watch = set.fake.watch().await;
    let mut changes = set.spectator.changes();
    changes.mark_unchanged();
    let News::Snapshot(mut fresh) = snapshot("later", 1, &[("1", "a", 7)]) else { unreachable!() };
    fresh.executors[0].metadata.clear();
    watch.say(News::Snapshot(fresh));
    soon(changes.changed()).await.unwrap();
    assert_eq!(set.spectator.try_lookup("1").unwrap().address(), Some("a:80"));
}

#[tokio::test]
async fn a_keep_alive_of_another_revision_is_a_gap() {
    let mut set = Set::up(&[("1", "a", 7)]).await;
    set.watch.say(News::KeepAlive(KeepAlive { revision: 3, age_ms: 0 }));
    assert_eq!(set.fake.watch().await.request, request("", 0));
}

#[tokio::test]
async fn the_map_is_served_through_an_outage() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let before = set.spectator.age().unwrap();
    drop(set.fake);
    drop(set.watch);
    let missed = set.spectator.lookup("2").await;
    assert!(matches!(missed, Err(LookupError::Unavailable { .. })), "{missed:?}");
    assert_eq!(set.spectator.lookup("1").await.unwrap().executor_id(), "a");
    assert!(set.spectator.age().unwrap() > before);
}

#[tokio::test]
async fn a_map_from_a_server_that_is_not_the_leader_is_as_old_as_that_one_says() {
    let set = Set::up(&[("1", "a", 7)]).await;
    set.watch.say(News::KeepAlive(KeepAlive { revision: 1, age_ms: 90_000 }));
    let old = |age: Option<Duration>| age.is_some_and(|age| age >= Duration::from_secs(90));
    soon(async {
        while !old(set.spectator.age()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(who(&set.spectator, "1"), Some("a".to_owned()), "it is served all the same");
    let mut changes = set.spectator.changes();
    changes.mark_unchanged();
    set.watch.say(moved(1, "1", "b", 8));
    soon(changes.changed()).await.unwrap();
    assert!(!old(set.spectator.age()), "a change comes from the leader");
}

#[tokio::test]
async fn a_silent_watch_is_taken_for_broken() {
    let mut fake = Fake::start().await;
    let silence = Duration::from_millis(100);
    let url = fake.url();
    let connect = Spectator::builder("counters").connect(&url).silence(silence).start();
    let serve = async {
        let watch = fake.watch().await;
        watch.say(snapshot("epoch", 1, &[]));
        watch
    };
    let (spectator, _silent) = tokio::join!(connect, serve);
    let _spectator = spectator.unwrap();
    assert_eq!(fake.watch().await.request, request("epoch", 1));
}

#[tokio::test]
async fn all_who_miss_a_key_share_one_call_and_its_answer_is_kept() {
    let mut set = Set::up(&[]).await;
    let answer = async {
        let lookup = set.fake.lookup().await;
        assert_eq!(lookup.key, "new");
        lookup.answer("b", 9);
    };
    let spectator = &set.spectator;
    let (one, other, ()) = tokio::join!(spectator.lookup("new"), spectator.lookup("new"), answer);
    assert_eq!(one.as_ref().map(Owner::executor_id), Ok("b"));
    assert_eq!(one, other);
    assert_eq!(spectator.lookup("new").await, one);
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn a_lookup_goes_on_when_its_caller_has_gone() {
    let mut set = Set::up(&[]).await;
    let asking = set.spectator.clone();
    let caller = tokio::spawn(async move { asking.lookup("new").await });
    let lookup = set.fake.lookup().await;
    caller.abort();
    let answer = async { lookup.answer("b", 9) };
    let (owner, ()) = tokio::join!(set.spectator.lookup("new"), answer);
    assert_eq!(owner.unwrap().executor_id(), "b");
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn a_lookup_is_tried_again_while_nobody_can_run_the_shard() {
    let mut set = Set::up(&[]).await;
    let answer = async {
        set.fake.lookup().await.fail(Status::unavailable("no executor"));
        set.fake.lookup().await.answer("b", 9);
    };
    let (owner, ()) = tokio::join!(set.spectator.lookup("new"), answer);
    assert_eq!(owner.unwrap().executor_id(), "b");
}

#[tokio::test]
async fn what_will_not_change_is_not_tried_again() {
    let mut set = Set::up(&[]).await;
    let answer = async { set.fake.lookup().await.fail(Status::not_found("fixed: 0 to 9")) };
    let (owner, ()) = tokio::join!(set.spectator.lookup("77"), answer);
    let missing = LookupError::NotFound { shard: "77".into(), message: "fixed: 0 to 9".into() };
    assert_eq!(owner, Err(missing));

    let answer = async { set.fake.lookup().await.fail(Status::failed_precondition("drained")) };
    let (owner, ()) = tokio::join!(set.spectator.lookup("5"), answer);
    assert_eq!(owner, Err(LookupError::Drained { shard: "5".into() }));
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn a_drained_shard_is_known_without_a_call() {
    let mut set = Set::up(&[("1", "a", 7)]).await;
    let mut changes = set.spectator.changes();
    changes.mark_unchanged();
    set.watch.say(News::Delta(Delta {
        from: 1,
        to: 2,
        drained_shards: vec!["1".into()],
        ..Delta::default()
    }));
    soon(changes.changed()).await.unwrap();
    let drained = LookupError::Drained { shard: "1".into() };
    assert_eq!(set.spectator.lookup("1").await, Err(drained));
    assert_eq!(set.spectator.try_lookup("1"), None);
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn a_refusal_is_an_error_of_connecting() {
    let mut fake = Fake::start().await;
    let url = fake.url();
    let serve = async { fake.watch().await.fail(Status::not_found("no namespace typo")) };
    let (refused, ()) = tokio::join!(Spectator::connect(&url, "typo"), serve);
    let refused = refused.map(|_| ()).unwrap_err();
    assert!(matches!(refused, ConnectError::Refused { code: Code::NotFound, .. }), "{refused}");
}

#[tokio::test]
async fn what_a_spectator_waits_for_can_be_waited_for_in_a_task() {
    fn in_a_task(_: impl Future + Send) {}
    in_a_task(Spectator::connect("http://127.0.0.1:1", "counters"));
    let set = Set::up(&[]).await;
    in_a_task(set.spectator.ready());
    in_a_task(set.spectator.lookup("1"));
    in_a_task(set.spectator.lookup_fresh("1"));
}

/// A spectator that has its first map.
pub(crate) struct Set {
    pub(crate) fake: Fake,
    pub(crate) watch: Watch,
    pub(crate) spectator: Spectator,
}

impl Set {
    pub(crate) async fn up(routes: &[(&str, &str, u64)]) -> Self {
        Self::up_as(routes, |builder| builder).await
    }

    pub(crate) async fn up_as(
        routes: &[(&str, &str, u64)],
        configure: impl FnOnce(SpectatorBuilder) -> SpectatorBuilder,
    ) -> Self {
        let mut fake = Fake::start().await;
        let builder = configure(Spectator::builder("counters").connect(fake.url()));
        let serve = async {
            let watch = fake.watch().await;
            assert_eq!(watch.request, request("", 0));
            watch.say(snapshot("epoch", 1, routes));
            watch
        };
        let (spectator, watch) = tokio::join!(builder.start(), serve);
        Self { fake, watch, spectator: spectator.unwrap() }
    }
}

fn who(spectator: &Spectator, key: &str) -> Option<String> {
    spectator.try_lookup(key).map(|owner| owner.executor_id().to_owned())
}

fn request(epoch: &str, revision: u64) -> WatchRequest {
    WatchRequest { namespace: "counters".into(), epoch: epoch.into(), revision }
}

fn snapshot(epoch: &str, revision: u64, routes: &[(&str, &str, u64)]) -> News {
    News::Snapshot(Snapshot {
        epoch: epoch.into(),
        revision,
        first: true,
        last: true,
        executors: routes.iter().map(|(_, executor, _)| routed(executor)).collect(),
        routes: routes
            .iter()
            .map(|(shard, id, generation)| route(shard, id, *generation))
            .collect(),
        drained_shards: vec![],
    })
}

pub(crate) fn moved(from: u64, shard: &str, executor: &str, generation: u64) -> News {
    News::Delta(Delta {
        from,
        to: from + 1,
        executors: vec![routed(executor)],
        routes: vec![route(shard, executor, generation)],
        ..Delta::default()
    })
}

fn route(shard: &str, executor: &str, generation: u64) -> Route {
    Route { shard_key: shard.into(), executor_id: executor.into(), generation }
}

fn routed(executor: &str) -> RoutedExecutor {
    RoutedExecutor { executor_id: executor.into(), metadata: address_of(executor) }
}
