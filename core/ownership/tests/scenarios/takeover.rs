//! The next leader begins where the one before ended, or without knowing where.

use std::time::Duration;

use plimsoll_ownership::action::{Outcome, Tell};
use plimsoll_ownership::namespace::{Order, Origin, SessionEvent};

use crate::world::World;

const CONFIDENCE: Duration = Duration::from_secs(3);

#[test]
fn a_handed_over_namespace_moves_nothing_and_waits_for_nothing() {
    let mut world = two_with_three_each();
    let (before, generations) = (world.routes.clone(), world.executors["a"].runs.clone());
    world.hand_over();
    assert_eq!(world.routes, before);
    world.reconnect("a");
    world.reconnect("b");
    assert_eq!(world.executors["a"].runs, generations, "sessions are recognised");
    world.run_for(30_000);
    assert_eq!(world.conditions(), "");
    assert_eq!((world.routes.clone(), world.namespace.stats().moves), (before, 0));
    assert_eq!(world.written, [], "nothing was written either");
}

#[test]
fn a_new_shard_is_granted_at_once_after_a_hand_over() {
    let mut world = World::ephemeral();
    world.join("a");
    world.run_for(400);
    world.hand_over();
    let request = world.locate("new");
    assert!(matches!(world.answer(request), Some(Outcome::Owner { .. })), "before any hello");
    world.reconnect("a");
    assert_eq!(world.runs("a"), ["new"], "the welcome tells of it");
}

#[test]
fn who_is_silent_after_a_hand_over_has_a_full_lease_and_no_more() {
    let mut world = two_with_three_each();
    world.run_for(400);
    world.hand_over();
    world.reconnect("b");
    world.crash("a");
    world.run_for(1_999);
    assert!(world.knows("a"));
    world.run_for(1);
    assert_eq!((world.knows("a"), world.count("b")), (false, 6));
}

#[test]
fn revocations_and_preparations_under_way_go_on_after_a_hand_over() {
    let mut world = two_with_three_each();
    world.slow("a");
    world.executors.get_mut("b").unwrap().prepares = true;
    world.reconnect("b");
    world.drain_host("a");
    let shard = world.runs("a")[0].to_owned();
    let generation = world.generation(&shard);
    world
        .say("b", SessionEvent::Prepared { shard: shard.as_str().into(), generation, error: None });
    assert_eq!(world.phase(&shard), "revoking");
    world.hand_over();
    world.reconnect("b");
    let Tell::Welcome { preparations, .. } = world.told_to("b")[0] else { panic!("no welcome") };
    let preparations = preparations.clone();
    assert_eq!(preparations.len(), 2);
    world.reconnect("a");
    assert_eq!(world.phase(&shard), "revoking");
    world.confirm("a", &shard);
    assert_eq!(world.count("b"), 4);
    for preparation in preparations {
        let (shard, generation) = (preparation.shard, preparation.generation);
        world.say("b", SessionEvent::Prepared { shard: shard.clone(), generation, error: None });
        world.confirm("a", &shard);
    }
    assert_eq!(world.count("b"), 6);
}

#[test]
fn a_grant_that_was_being_stored_at_a_hand_over_is_told_if_it_is_stored() {
    for stored in [true, false] {
        let mut world = World::fixed(1);
        world.stores_at_once = false;
        world.join("a");
        world.run_for(400);
        assert_eq!(world.phase("0"), "granting");
        let before = world.generation("0");
        if stored {
            world.reaches_the_store();
        }
        world.hand_over();
        world.stores_at_once = true;
        world.reconnect("a");
        world.run_for(100);
        assert_eq!(world.runs("a"), ["0"]);
        assert_eq!(world.generation("0") == before, stored);
    }
}

#[test]
fn the_grants_of_a_dead_owner_are_not_taken_for_ones_on_their_way() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(400);
    let first = world.generation("0");
    world.crash("a");
    world.run_for(2_000);
    assert_eq!(world.phase("0"), "unowned");
    world.stores_at_once = false;
    world.restart_process("a");
    world.hand_over();
    world.stores_at_once = true;
    world.reconnect("a");
    world.run_for(100);
    assert!(world.executors["a"].runs["0"] > first, "its last life ran under that generation");
}

#[test]
fn drains_and_orders_that_are_stored_hold_after_a_hand_over() {
    let mut world = two_with_three_each();
    world.slow("a");
    world.drain_shards(&["0"]);
    world.order(Order::Freeze(true));
    world.hand_over();
    world.reconnect("a");
    world.reconnect("b");
    assert!(world.namespace.is_frozen());
    assert!(world.namespace.drained_shards().contains_key("0"));
    world.run_for(5_000);
    assert_ne!(world.phase("0"), "owned");
}

#[test]
fn a_cold_leader_waits_for_the_confidence_of_the_last_one_and_a_full_lease() {
    let mut world = two_with_three_each();
    world.restart(Origin::Takeover { confidence: CONFIDENCE });
    world.reconnect("b");
    world.crash("a");
    world.run_for(12_999);
    assert!(world.knows("a"), "it may have been acknowledged for 3 s, and may speak either wire");
    world.run_for(1);
    assert_eq!((world.knows("a"), world.count("b")), (false, 6));
}

#[test]
fn who_has_spoken_to_a_cold_leader_has_what_the_last_one_may_have_promised() {
    let mut world = two_with_three_each();
    world.restart(Origin::Takeover { confidence: CONFIDENCE });
    world.reconnect("b");
    world.reconnect("a");
    world.crash("a");
    world.run_for(4_900);
    assert!(world.knows("a"));
}

fn two_with_three_each() -> World {
    let mut world = World::fixed(6);
    world.join("a");
    world.join("b");
    world.run_for(400);
    assert_eq!((world.count("a"), world.count("b")), (3, 3));
    world.written.clear();
    world
}
