//! Shards that come with the first question and go when they are done.

use plimsoll_ownership::action::Outcome;
use plimsoll_ownership::namespace::SessionEvent;
use plimsoll_ownership::record::Write;

use crate::world::World;

#[test]
fn a_shard_is_made_by_the_first_question_and_all_get_the_same_answer() {
    let mut world = World::ephemeral();
    world.join("a");
    world.join("b");
    world.stores_at_once = false;
    let requests: Vec<_> = (0..5).map(|_| world.locate("job")).collect();
    world.commit();
    let answers: Vec<_> = requests.iter().map(|request| world.answer(*request).unwrap()).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(world.store.grants.len(), 1);
}

#[test]
fn thousands_of_creations_write_nothing_but_themselves() {
    let mut world = World::ephemeral();
    for name in ["a", "b", "c", "d"] {
        world.join(name);
    }
    for hundred in 0..20 {
        let keys: Vec<_> = (0..100).map(|n| format!("job-{hundred}-{n}")).collect();
        world.locate_all(&keys);
    }
    let grants = world.written.iter().filter(|write| matches!(write, Write::Grant { .. })).count();
    assert_eq!(grants, 2_000);
    assert_eq!(world.written.len(), 2_001, "and one bound of generations");
    assert_eq!(["a", "b", "c", "d"].map(|name| world.count(name)), [500; 4]);
}

#[test]
fn creations_that_come_together_are_stored_together() {
    let mut world = World::ephemeral();
    world.join("a");
    world.stores_at_once = false;
    let keys: Vec<_> = (0..1_000).map(|n| format!("job-{n}")).collect();
    world.locate_all(&keys);
    world.commit();
    assert_eq!((world.store.grants.len(), world.count("a")), (1_000, 1_000));
}

#[test]
fn a_shard_that_is_done_vanishes_once_its_owner_has_stopped() {
    let mut world = one_job_on_a();
    world.slow("a");
    world.say("a", done(1));
    assert_eq!((world.phase("job"), world.namespace.census().shards), ("revoking", 1));
    world.confirm("a", "job");
    assert_eq!(world.namespace.census().shards, 0);
    assert!(world.store.grants.is_empty() && world.routes.is_empty());
}

#[test]
fn only_the_owner_and_only_under_its_grant_can_be_done() {
    let mut world = one_job_on_a();
    world.join("b");
    world.say("b", done(1));
    world.say("a", done(7));
    let answer = world.heartbeat_done("go", &["job"], "job");
    assert_eq!(&*answer.revoked[0], "job");
    assert_eq!((world.phase("job"), world.owner("job").as_deref()), ("owned", Some("a")));
}

#[test]
fn a_unary_owner_is_done_by_its_report() {
    let mut world = World::ephemeral();
    world.heartbeat("go", &[]);
    assert_eq!(world.located("job"), "go");
    world.heartbeat("go", &["job"]);
    let answer = world.heartbeat_done("go", &["job"], "job");
    assert_eq!((answer.ready.len(), &*answer.revoked[0]), (0, "job"));
    world.heartbeat("go", &[]);
    assert_eq!(world.namespace.census().shards, 0);
}

#[test]
fn a_shard_that_is_asked_for_while_it_retires_lives_again_under_a_new_grant() {
    let mut world = one_job_on_a();
    world.slow("a");
    world.say("a", done(1));
    let request = world.locate("job");
    assert_eq!(world.answer(request), None, "its owner is stopping it");
    world.confirm("a", "job");
    let answer = world.answer(request).unwrap();
    assert!(matches!(answer, Outcome::Owner { generation: 2, .. }), "{answer:?}");
}

#[test]
fn a_shard_that_is_asked_for_while_its_end_is_stored_lives_again() {
    let mut world = one_job_on_a();
    world.slow("a");
    world.say("a", done(1));
    world.stores_at_once = false;
    world.confirm("a", "job");
    assert_eq!(world.phase("job"), "releasing");
    let request = world.locate("job");
    world.commit();
    world.commit();
    assert!(matches!(world.answer(request), Some(Outcome::Owner { generation: 2, .. })));
    assert_eq!(world.store.grants["job"].generation, 2);
}

#[test]
fn a_done_shard_of_an_earlier_life_does_not_end_the_next() {
    let mut world = one_job_on_a();
    world.say("a", done(1));
    assert_eq!(world.located("job"), "a");
    world.say("a", done(1));
    assert_eq!((world.phase("job"), world.generation("job")), ("owned", 2));
}

#[test]
fn a_fixed_shard_is_never_done() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(400);
    world.say("a", SessionEvent::Done { shard: "0".into(), generation: 1 });
    assert_eq!(world.phase("0"), "owned");
}

#[test]
fn a_question_that_nobody_can_serve_is_answered_and_leaves_no_trace() {
    let mut world = World::ephemeral();
    assert_eq!(world.located("job"), "Some(NoExecutor)");
    world.join("a");
    world.drain_host("a");
    assert_eq!(world.located("job"), "Some(NoExecutor)");
    assert_eq!(world.namespace.census().shards, 0);
}

#[test]
fn a_key_that_cannot_be_is_not_found() {
    let mut world = World::ephemeral();
    world.join("a");
    assert_eq!(world.located(&"k".repeat(1_025)), "Some(NotFound)");
    assert_eq!(world.located(&"k".repeat(1_024)), "a");
    let mut world = World::fixed(10);
    for key in ["10", "07", "+7", "-1", "seven", ""] {
        assert_eq!(world.located(key), "Some(NotFound)", "{key:?}");
    }
}

#[test]
fn the_shards_of_a_dead_executor_are_placed_by_load() {
    let mut world = World::ephemeral();
    for name in ["a", "b", "c"] {
        world.join(name);
    }
    for n in 0..30 {
        world.locate(&format!("job-{n}"));
    }
    world.crash("a");
    world.run_for(2_100);
    assert_eq!((world.count("b"), world.count("c")), (15, 15));
}

#[test]
fn a_question_that_was_given_up_is_not_answered() {
    let mut world = World::ephemeral();
    world.join("a");
    world.stores_at_once = false;
    let request = world.locate("job");
    world.namespace.forget_requests(&[request].into());
    world.commit();
    assert_eq!(world.answer(request), None);
    assert_eq!(world.count("a"), 1);
}

fn one_job_on_a() -> World {
    let mut world = World::ephemeral();
    world.join("a");
    assert_eq!(world.located("job"), "a");
    world
}

fn done(generation: u64) -> SessionEvent {
    SessionEvent::Done { shard: "job".into(), generation }
}
