//! Executors that send unary heartbeats and know neither generations nor
//! confirmations.

use plimsoll_ownership::action::Outcome;

use crate::world::World;

#[test]
fn an_answer_holds_what_the_executor_owns() {
    let mut world = World::fixed(3);
    let first = world.heartbeat("go", &[]);
    assert_eq!((first.ready.len(), first.revoked.len()), (0, 0));
    world.run_for(1_000);
    assert_eq!(keys(&world.heartbeat("go", &[]).ready), ["0", "1", "2"]);
}

#[test]
fn a_revoked_shard_is_named_until_it_is_not_reported() {
    let mut world = two_gos();
    world.drain_shards(&["0"]);
    for _ in 0..3 {
        let answer = world.heartbeat("go-1", &["0", "2"]);
        assert_eq!((keys(&answer.ready), keys(&answer.revoked)), (vec!["2"], vec!["0"]));
        assert_eq!(world.phase("0"), "revoking");
    }
    let answer = world.heartbeat("go-1", &["2"]);
    assert_eq!((keys(&answer.ready), keys(&answer.revoked)), (vec!["2"], vec![]));
    assert_eq!(world.phase("0"), "unowned");
}

#[test]
fn the_last_shard_is_revoked_by_name_too() {
    let mut world = World::fixed(1);
    world.heartbeat("go-1", &[]);
    world.run_for(1_000);
    world.heartbeat("go-1", &["0"]);
    world.heartbeat("go-2", &[]);
    world.drain_host("go-1");
    let answer = world.heartbeat("go-1", &["0"]);
    assert_eq!((keys(&answer.ready), keys(&answer.revoked)), (vec![], vec!["0"]));
    assert_eq!(keys(&world.heartbeat("go-2", &[]).ready), Vec::<&str>::new());
    world.heartbeat("go-1", &[]);
    assert_eq!(keys(&world.heartbeat("go-2", &[]).ready), ["0"]);
}

#[test]
fn a_report_that_came_before_the_answer_confirms_nothing() {
    let mut world = two_gos();
    world.drain_shards(&["0"]);
    // It does not report what it is still starting.
    let answer = world.heartbeat("go-1", &["2"]);
    assert_eq!(keys(&answer.revoked), ["0"]);
    assert_eq!(world.phase("0"), "revoking");
    world.heartbeat("go-1", &["2"]);
    assert_eq!(world.phase("0"), "unowned");
}

#[test]
fn a_shard_that_may_still_be_starting_is_revoked_for_a_whole_lease() {
    let mut world = World::fixed(1);
    world.heartbeat("go", &[]);
    world.run_for(1_000);
    world.heartbeat("go", &[]);
    world.drain_shards(&["0"]);
    for _ in 0..10 {
        assert_eq!(keys(&world.heartbeat("go", &[]).revoked), ["0"]);
        world.run_for(1_000);
    }
    assert_eq!(keys(&world.heartbeat("go", &[]).revoked), Vec::<&str>::new());
    assert_eq!(world.phase("0"), "unowned");
}

#[test]
fn a_shard_that_has_started_after_its_revocation_is_waited_for() {
    let mut world = World::fixed(1);
    world.heartbeat("go", &[]);
    world.run_for(1_000);
    world.heartbeat("go", &[]);
    world.drain_shards(&["0"]);
    world.heartbeat("go", &[]);
    world.heartbeat("go", &["0"]);
    assert_eq!(world.phase("0"), "revoking");
    world.heartbeat("go", &[]);
    assert_eq!(world.phase("0"), "unowned");
}

#[test]
fn a_shard_that_was_never_named_moves_without_a_wait() {
    let mut world = World::fixed(1);
    world.heartbeat("go-1", &[]);
    world.run_for(1_000);
    assert_eq!(world.owner("0").as_deref(), Some("go-1"));
    world.heartbeat("go-2", &[]);
    world.drain_host("go-1");
    assert_eq!(keys(&world.heartbeat("go-2", &[]).ready), ["0"]);
}

#[test]
fn one_that_drains_itself_and_reports_nothing_frees_everything_at_once() {
    let mut world = two_gos();
    let answer = world.heartbeat_leaving("go-1");
    assert_eq!((answer.ready.len(), answer.revoked.len()), (0, 0));
    assert_eq!(keys(&world.heartbeat("go-2", &["1", "3"]).ready), ["0", "1", "2", "3"]);
    assert_eq!(world.namespace.executor_of("go-1").unwrap().status, "leaving");
}

#[test]
fn one_that_drains_itself_keeps_what_it_still_reports() {
    let mut world = two_gos();
    let beat = world.heartbeat("go-1", &["0", "2"]);
    assert_eq!(beat.ready.len(), 2);
    world.drain_host("go-1");
    world.heartbeat("go-1", &["0", "2"]);
    world.heartbeat("go-1", &["2"]);
    assert_eq!(keys(&world.heartbeat("go-2", &["1", "3"]).ready), ["0", "1", "3"]);
}

#[test]
fn one_that_is_active_again_gets_shards_again() {
    let mut world = two_gos();
    world.heartbeat_leaving("go-1");
    world.heartbeat("go-1", &[]);
    world.heartbeat_leaving("go-2");
    assert_eq!(keys(&world.heartbeat("go-1", &[]).ready), ["0", "1", "2", "3"]);
}

#[test]
fn what_somebody_reports_who_does_not_own_it_is_revoked() {
    let mut world = two_gos();
    let answer = world.heartbeat("go-1", &["0", "1", "2", "nonsense"]);
    assert_eq!(keys(&answer.ready), ["0", "2"]);
    assert_eq!(keys(&answer.revoked), ["1", "nonsense"]);
    assert_eq!(world.owner("1").as_deref(), Some("go-2"));
}

#[test]
fn the_owner_of_an_answer_is_told_in_its_next_heartbeat() {
    let mut world = World::ephemeral();
    world.heartbeat("go", &[]);
    world.stores_at_once = false;
    let request = world.locate("jobs");
    assert_eq!(world.answer(request), None);
    assert_eq!(keys(&world.heartbeat("go", &[]).ready), Vec::<&str>::new());
    world.commit();
    assert!(matches!(world.answer(request), Some(Outcome::Owner { .. })));
    assert_eq!(keys(&world.heartbeat("go", &[]).ready), ["jobs"]);
}

#[test]
fn a_late_heartbeat_brings_an_executor_back_without_its_shards() {
    let mut world = two_gos();
    for _ in 0..11 {
        world.run_for(1_000);
        world.heartbeat("go-2", &["1", "3"]);
    }
    assert!(!world.knows("go-1"));
    world.heartbeat("go-2", &["0", "1", "2", "3"]);
    let answer = world.heartbeat("go-1", &["0", "2"]);
    assert_eq!(answer.ready.len(), 0);
    assert_eq!(keys(&answer.revoked), ["0", "2"]);
}

#[test]
fn a_refused_heartbeat_is_a_sign_of_life() {
    let mut world = World::fixed(1);
    world.heartbeat("go", &[]);
    for _ in 0..5 {
        world.run_for(9_000);
        world.namespace.refused_heartbeat(world.now, "go");
        world.namespace.refused_heartbeat(world.now, "stranger");
    }
    assert!(world.knows("go"));
    assert!(!world.knows("stranger"));
}

#[test]
fn an_executor_may_change_from_one_wire_to_the_other() {
    let mut world = World::fixed(2);
    world.heartbeat("x", &[]);
    world.run_for(1_000);
    world.heartbeat("x", &["0", "1"]);
    world.join("x");
    assert_eq!(world.namespace.executor_of("x").unwrap().protocol, "session");
    assert_eq!(world.runs("x"), ["0", "1"]);
    let session = world.executors["x"].id;
    assert_eq!(world.heartbeat("x", &["0", "1"]).ready.len(), 2);
    assert_eq!(world.namespace.executor_of("x").unwrap().protocol, "unary");
    world.namespace.session_closed(session);
    assert_eq!(world.namespace.executor_of("x").unwrap().status, "active");
}

/// `go-1` runs 0 and 2, `go-2` runs 1 and 3, and they have been told so.
fn two_gos() -> World {
    let mut world = World::fixed(4);
    world.heartbeat("go-1", &[]);
    world.heartbeat("go-2", &[]);
    world.run_for(500);
    world.heartbeat("go-1", &[]);
    world.heartbeat("go-2", &[]);
    world.heartbeat("go-1", &["0", "2"]);
    assert_eq!(keys(&world.heartbeat("go-2", &["1", "3"]).ready), ["1", "3"]);
    world
}

fn keys(shards: &[std::sync::Arc<str>]) -> Vec<&str> {
    shards.iter().map(|shard| &**shard).collect()
}
