//! A leader that was replaced may live and go on telling what it knew for a while: a
//! cold leader gives away nothing that the other might still give to its owner.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::{Outcome, Tell};
use plimsoll_ownership::namespace::{Order, Origin, SessionEvent};
use plimsoll_ownership::record::Kind;

use crate::world::World;

const COLD: Origin = Origin::Takeover { confidence: Duration::from_secs(3) };
/// The confidence by a clock that is slower.
const OVERLAP: u64 = 3_150;

#[test]
fn what_the_owner_does_not_name_waits_until_the_leader_before_is_silent() {
    let mut world = two_with_three_each();
    let before: Vec<_> = world.executors["a"].runs.clone().into_iter().collect();
    world.restart(COLD);
    world.reconnect("b");
    world.restart_process("a");
    world.run_for(OVERLAP - 1);
    assert_eq!((world.count("a"), world.count("b")), (0, 3), "its last life may run elsewhere");
    let told = world.namespace.explain(world.now, &before[0].0).unwrap().outlook;
    assert!(told.starts_with("the leader before may still speak to executors"), "{told}");
    world.run_for(1);
    let after: Vec<_> = world.executors["a"].runs.clone().into_iter().collect();
    assert_eq!(after.len(), 3);
    for ((shard, earlier), (same, later)) in before.iter().zip(&after) {
        assert_eq!(shard, same);
        assert!(later > earlier, "another process, another generation");
    }
    assert_eq!(world.namespace.stats().moves, 0);
}

#[test]
fn an_earlier_generation_names_nothing() {
    let mut world = two_with_three_each();
    world.restart(COLD);
    world.reconnect("b");
    world.executors.get_mut("a").unwrap().runs.values_mut().for_each(|it| *it -= 1);
    world.reconnect("a");
    assert_eq!(world.count("a"), 0, "it may be told the present one by the leader before");
    world.run_for(OVERLAP);
    assert_eq!(world.count("a"), 3);
}

#[test]
fn what_the_owner_names_moves_at_once() {
    let mut world = two_with_three_each();
    world.restart(COLD);
    world.reconnect("a");
    world.reconnect("b");
    world.drain_host("a");
    assert_eq!((world.count("a"), world.count("b")), (0, 6));
}

#[test]
fn what_a_unary_executor_has_stays_until_the_leader_before_is_silent() {
    let mut world = World::fixed(2);
    world.heartbeat("g", &[]);
    world.run_for(400);
    assert_eq!(keys(&world.heartbeat("g", &[]).ready), ["0", "1"]);
    world.heartbeat("g", &["0", "1"]);
    world.restart(COLD);
    world.heartbeat("g", &["0", "1"]);
    world.join("b");
    world.drain_host("g");
    world.run_for(1_000);
    assert_eq!(keys(&world.heartbeat("g", &[]).ready), ["0", "1"]);
    world.run_for(OVERLAP - 1_000);
    assert_eq!(keys(&world.heartbeat("g", &["0", "1"]).revoked), ["0", "1"]);
    assert_eq!(world.count("b"), 0);
    world.heartbeat("g", &[]);
    assert_eq!(world.count("b"), 2);
}

#[test]
fn a_goodbye_of_one_that_named_nothing_frees_nothing_before_its_lease_is_over() {
    let mut world = two_with_three_each();
    world.restart(COLD);
    world.reconnect("b");
    world.restart_process("a");
    world.silence("a");
    world.say("a", SessionEvent::Goodbye { returning: false });
    world.run_for(12_999);
    assert_eq!(world.count("b"), 3);
    world.run_for(1);
    assert_eq!(world.count("b"), 6);
}

#[test]
fn a_goodbye_of_one_that_named_everything_frees_it_at_once() {
    let mut world = two_with_three_each();
    world.restart(COLD);
    world.reconnect("b");
    world.reconnect("a");
    world.crash("a");
    world.say("a", SessionEvent::Goodbye { returning: false });
    assert_eq!(world.count("b"), 6);
}

#[test]
fn drains_and_a_reset_are_carried_out_when_the_leader_before_is_silent() {
    let mut world = two_with_three_each();
    world.restart(COLD);
    world.reconnect("b");
    let of_a = world.runs("a")[0].to_owned();
    let generations: Vec<_> = (0..6).map(|shard| world.generation(&shard.to_string())).collect();
    let drained = world.drain_shards(&[&of_a]);
    assert!(matches!(world.answer(drained), Some(Outcome::Ordered { .. })));
    world.run_for(OVERLAP);
    assert_eq!(world.phase(&of_a), "revoking");
    world.hello("a", Vec::new());
    assert_eq!(world.phase(&of_a), "unowned");
    world.restart(COLD);
    world.order(Order::Reset);
    world.run_for(OVERLAP);
    world.reconnect("a");
    world.reconnect("b");
    world.run_for(400);
    for (shard, before) in (0..6).map(|shard| shard.to_string()).zip(generations) {
        assert!(world.generation(&shard) > before, "{shard}");
    }
}

#[test]
fn a_drain_that_was_put_off_is_due_when_the_owner_names_the_shard() {
    let mut world = two_with_three_each();
    world.restart(COLD);
    world.reconnect("b");
    let of_a = world.runs("a")[0].to_owned();
    world.drain_shards(&[&of_a]);
    assert_eq!(world.phase(&of_a), "owned");
    world.reconnect("a");
    assert_eq!((world.count("a"), world.phase(&of_a)), (2, "unowned"));
}

#[test]
fn a_leader_to_whom_it_is_handed_over_meanwhile_waits_as_long() {
    let mut world = two_with_three_each();
    world.restart(COLD);
    world.reconnect("b");
    world.run_for(1_000);
    world.hand_over();
    world.reconnect("b");
    world.restart_process("a");
    world.run_for(OVERLAP - 1_001);
    assert_eq!((world.count("a"), world.count("b")), (0, 3));
    world.run_for(1);
    assert_eq!(world.count("a"), 3);
}

#[test]
fn a_new_shard_is_granted_at_once() {
    let mut world = World::with(Kind::Ephemeral, &[], Origin::New);
    world.join("a");
    world.run_for(400);
    world.locate("old");
    world.restart(COLD);
    world.hello("a", Vec::new());
    let request = world.locate("new");
    assert!(matches!(world.answer(request), Some(Outcome::Owner { .. })));
    assert_eq!(world.runs("a"), ["new"], "the old one waits");
    let Tell::Welcome { grants, .. } = world.told_to("a")[0] else { panic!("no welcome") };
    assert_eq!(*grants, []);
}

fn keys(shards: &[Arc<str>]) -> Vec<&str> {
    shards.iter().map(|shard| &**shard).collect()
}

fn two_with_three_each() -> World {
    let mut world = World::fixed(6);
    world.join("a");
    world.join("b");
    world.run_for(400);
    assert_eq!((world.count("a"), world.count("b")), (3, 3));
    world
}
