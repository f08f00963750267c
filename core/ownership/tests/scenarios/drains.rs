//! Hosts and shards that carry no work.

use plimsoll_ownership::action::Outcome;
use plimsoll_ownership::namespace::{Order, Origin};

use crate::world::{World, drain};

#[test]
fn a_drained_host_is_emptied_at_once_by_load() {
    let mut world = three_with_two_each();
    world.load("a", &[("0", 9.0), ("3", 8.0)]);
    world.load("b", &[("1", 1.0), ("4", 1.0)]);
    world.load("c", &[("2", 10.0), ("5", 0.0)]);
    world.run_for(600);
    let before = world.now;
    world.drain_host("a");
    assert_eq!(world.now, before, "not at the next period");
    assert_eq!((world.count("a"), world.count("b"), world.count("c")), (0, 3, 3));
    assert_eq!(world.runs("b"), ["0", "1", "4"], "the larger one to the emptier host");
    assert_eq!(world.namespace.drain_waits_for("a"), None);
}

#[test]
fn nothing_new_goes_to_a_drained_host() {
    let mut world = World::ephemeral();
    world.join("a");
    world.join("b");
    world.drain_host("a");
    for n in 0..20 {
        assert_eq!(world.located(&format!("job-{n}")), "b");
    }
    world.join_on("c", "a");
    assert_eq!(world.located("job-20"), "b", "nor to a new executor there");
}

#[test]
fn a_host_drain_is_followed_only_once_it_is_stored() {
    let mut world = three_with_two_each();
    world.stores_at_once = false;
    let request = world.drain_host("a");
    assert_eq!((world.count("a"), world.answer(request)), (2, None));
    world.commit();
    assert_eq!(world.answer(request), Some(&Outcome::Ordered { changed: vec!["a".into()] }));
    assert_eq!(world.count("a"), 0);
}

#[test]
fn a_host_drain_survives_a_restart() {
    let mut world = three_with_two_each();
    world.drain_host("a");
    world.restart(Origin::Durable);
    for name in ["a", "b", "c"] {
        world.reconnect(name);
    }
    world.run_for(1_000);
    assert_eq!((world.count("a"), world.count("b") + world.count("c")), (0, 6));
    assert_eq!(world.namespace.drained_hosts()["a"], drain());
}

#[test]
fn if_nobody_else_can_take_them_nothing_moves_and_the_reason_is_shown() {
    let mut world = World::fixed(2);
    world.join("a");
    world.run_for(400);
    world.drain_host("a");
    world.run_for(5_000);
    assert_eq!(world.count("a"), 2);
    let waits = "no other executor can take its 2 shards";
    assert_eq!(world.namespace.drain_waits_for("a").as_deref(), Some(waits));
    assert!(
        world.conditions().contains("the drain of a waits: no other"),
        "{}",
        world.conditions()
    );
    world.join("b");
    assert_eq!((world.count("a"), world.count("b")), (0, 2));
    assert_eq!(world.conditions(), "");
}

#[test]
fn an_undrained_host_may_carry_again() {
    let mut world = World::fixed(2);
    world.join("a");
    world.join("b");
    world.run_for(400);
    world.drain_host("a");
    assert_eq!(world.count("b"), 2);
    let request = world.undrain_host("a");
    assert_eq!(world.answer(request), Some(&Outcome::Ordered { changed: vec!["a".into()] }));
    world.drain_host("b");
    assert_eq!((world.count("a"), world.count("b")), (2, 0));
}

#[test]
fn a_drained_shard_is_stopped_and_never_placed() {
    let mut world = three_with_two_each();
    world.slow("a");
    let request = world.drain_shards(&["0"]);
    assert_eq!(world.answer(request), Some(&Outcome::Ordered { changed: vec!["0".into()] }));
    assert_eq!(world.phase("0"), "revoking");
    assert_eq!(world.located("0"), "Some(Drained)");
    world.confirm("a", "0");
    assert_eq!(world.phase("0"), "unowned");
    assert!(!world.routes.contains_key("0") && !world.store.grants.contains_key("0"));
    world.join("d");
    world.run_for(5_000);
    assert_eq!((world.phase("0"), world.namespace.census().unowned), ("unowned", 0));
}

#[test]
fn a_fixed_shard_comes_back_after_its_drain() {
    let mut world = three_with_two_each();
    world.drain_shards(&["0", "1", "no-such-shard"]);
    let owned = |world: &World| world.executors.values().map(|e| e.runs.len()).sum::<usize>();
    assert_eq!(owned(&world), 4);
    world.undrain_shards(&["0", "1"]);
    assert_eq!(owned(&world), 6);
}

#[test]
fn a_drain_that_is_taken_back_before_the_stop_still_waits_for_the_stop() {
    let mut world = three_with_two_each();
    world.slow("a");
    world.drain_shards(&["0"]);
    world.undrain_shards(&["0"]);
    assert_eq!(world.phase("0"), "revoking");
    world.confirm("a", "0");
    assert_eq!(world.phase("0"), "owned");
    assert_eq!(world.generation("0"), 7);
}

#[test]
fn a_shard_that_is_drained_while_its_grant_is_stored_does_not_stay() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(299);
    world.stores_at_once = false;
    world.run_for(1);
    world.drain_shards(&["0"]);
    world.commit();
    world.commit();
    world.stores_at_once = true;
    world.turn();
    assert_eq!((world.count("a"), world.phase("0")), (0, "unowned"));
    assert!(world.store.grants.is_empty());
}

#[test]
fn a_drained_ephemeral_shard_is_not_made_by_asking() {
    let mut world = World::ephemeral();
    world.join("a");
    assert_eq!(world.located("job"), "a");
    world.drain_shards(&["job", "other"]);
    assert_eq!(world.count("a"), 0);
    for key in ["job", "other"] {
        assert_eq!(world.located(key), "Some(Drained)");
        assert!(
            world.namespace.explain(world.now, key).unwrap().outlook.contains("drained by ann")
        );
    }
    assert_eq!(world.namespace.census().shards, 0);
    world.undrain_shards(&["job"]);
    assert_eq!(world.namespace.census().shards, 0);
    assert_eq!(world.located("job"), "a");
}

#[test]
fn a_shard_drain_survives_a_restart_and_its_owner_is_told() {
    let mut world = three_with_two_each();
    world.slow("a");
    world.drain_shards(&["0"]);
    world.restart(Origin::Durable);
    assert_eq!(world.located("0"), "Some(Drained)");
    for name in ["a", "b", "c"] {
        world.reconnect(name);
    }
    assert_eq!(world.phase("0"), "revoking");
    world.confirm("a", "0");
    world.run_for(15_000);
    assert_eq!(world.phase("0"), "unowned");
}

#[test]
fn a_second_drain_keeps_the_record_of_the_first() {
    let mut world = three_with_two_each();
    world.drain_shards(&["0"]);
    let other = plimsoll_ownership::record::DrainRecord::default();
    let request = world.order(Order::DrainShards {
        keys: vec!["0".into(), "1".into(), "1".into()],
        drain: other.clone(),
    });
    assert_eq!(world.answer(request), Some(&Outcome::Ordered { changed: vec!["1".into()] }));
    assert_eq!(world.namespace.drained_shards()["0"], drain());
    assert_eq!(world.namespace.drained_shards()["1"], other);
}

#[test]
fn a_drained_shard_is_moved_nowhere_when_its_owner_dies() {
    let mut world = three_with_two_each();
    world.slow("a");
    world.drain_shards(&["0"]);
    world.crash("a");
    world.run_for(3_000);
    assert_eq!(world.phase("0"), "unowned");
    assert!(!world.store.grants.contains_key("0"));
}

fn three_with_two_each() -> World {
    let mut world = World::fixed(6);
    for name in ["a", "b", "c"] {
        world.join(name);
    }
    world.run_for(400);
    assert_eq!(world.runs("a"), ["0", "3"]);
    world
}
