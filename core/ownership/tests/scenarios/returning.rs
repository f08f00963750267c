//! Executors that say goodbye and come back.

use plimsoll_ownership::action::{Outcome, Tell};
use plimsoll_ownership::event::What;
use plimsoll_ownership::namespace::{Origin, SessionEvent};
use plimsoll_ownership::record::Kind;

use crate::world::World;

#[test]
fn an_executor_that_comes_back_in_time_gets_its_shards_back_without_a_move() {
    let mut world = two_with_a_grace();
    let before: Vec<_> = world.runs("a").into_iter().map(str::to_owned).collect();
    let generation = world.generation(&before[0]);
    goes(&mut world);
    assert_eq!(world.routes.len(), 2, "nobody is sent to an executor that is not there");
    world.run_for(4_000);
    let told = world.namespace.explain(world.now, &before[0]).unwrap().outlook;
    assert_eq!(told, "a restarts: nobody runs the shard, which is kept for it for another 1.0s");
    world.restart_process("a");
    assert_eq!(world.runs("a"), before);
    assert!(world.generation(&before[0]) > generation, "another process, another generation");
    assert_eq!((world.namespace.stats().moves, world.happened(What::Away)), (0, 1));
    world.run_for(10_000);
    assert_eq!(world.count("a"), 2);
}

#[test]
fn one_that_does_not_come_back_loses_its_shards_after_the_grace() {
    let mut world = two_with_a_grace();
    goes(&mut world);
    world.run_for(4_999);
    assert_eq!(world.count("b"), 2);
    world.run_for(1);
    assert_eq!((world.count("b"), world.knows("a")), (4, false));
}

#[test]
fn a_question_for_a_shard_that_is_kept_is_answered_when_it_is_back() {
    let mut world = two_with_a_grace();
    let shard = world.runs("a")[0].to_owned();
    goes(&mut world);
    let request = world.locate(&shard);
    assert_eq!(world.answer(request), None);
    world.restart_process("a");
    assert!(matches!(world.answer(request), Some(Outcome::Owner { .. })));
}

#[test]
fn a_drain_of_the_host_does_not_wait_for_one_that_is_away() {
    let mut world = two_with_a_grace();
    goes(&mut world);
    world.drain_host("a");
    assert_eq!(world.count("b"), 4);
}

#[test]
fn without_a_grace_a_goodbye_is_a_goodbye() {
    let mut world = World::fixed(4);
    world.join("a");
    world.join("b");
    world.run_for(400);
    goes(&mut world);
    assert_eq!((world.count("b"), world.knows("a")), (4, false));
}

#[test]
fn what_is_kept_for_an_executor_is_kept_by_the_next_leader_too() {
    let mut world = two_with_a_grace();
    goes(&mut world);
    world.run_for(1_000);
    world.hand_over();
    world.reconnect("b");
    world.run_for(3_000);
    assert_eq!(world.count("b"), 2);
    world.restart_process("a");
    assert_eq!((world.count("a"), world.namespace.stats().moves), (2, 0));
}

#[test]
fn executors_hear_what_the_end_of_a_lease_means() {
    let mut world = World::fixed(1);
    world.join("a");
    world.change(&[("lease_end", "keep")]);
    world.reconnect("a");
    let Tell::Welcome { lease_end, .. } = world.told_to("a")[0] else { panic!("no welcome") };
    assert_eq!(lease_end.as_str(), "keep");
}

/// It has stopped everything and says that it comes back.
fn goes(world: &mut World) {
    world.executors.get_mut("a").unwrap().runs.clear();
    world.silence("a");
    world.say("a", SessionEvent::Goodbye { returning: true });
}

fn two_with_a_grace() -> World {
    let settings = [("restart_grace", "5s")];
    let mut world = World::with(Kind::Fixed { shards: 4 }, &settings, Origin::New);
    world.join("a");
    world.join("b");
    world.run_for(400);
    assert_eq!((world.count("a"), world.count("b")), (2, 2));
    world
}
