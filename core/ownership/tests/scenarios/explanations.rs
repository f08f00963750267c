//! What people are told.

use plimsoll_ownership::namespace::SessionEvent;

use crate::world::World;

#[test]
fn an_owned_shard_says_why_it_is_there_and_why_it_stays() {
    let mut world = World::fixed(2);
    world.join("a");
    world.run_for(1_500);
    let told = world.namespace.explain(world.now, "0").unwrap();
    assert_eq!((told.phase, told.owner.as_deref(), told.generation), ("owned", Some("a"), 1));
    assert_eq!(told.because, "it had no owner and was placed by load");
    assert_eq!(told.outlook, "a is not too hot: nothing asks it to move");
    assert!(world.namespace.explain(world.now, "2").is_none());
}

#[test]
fn a_shard_without_owner_says_what_it_waits_for() {
    let mut world = World::fixed(1);
    let outlook = |world: &World| world.namespace.explain(world.now, "0").unwrap().outlook;
    assert!(outlook(&world).starts_with("no executor can take it"), "{}", outlook(&world));
    assert!(world.conditions().starts_with("1 shards have no owner"), "{}", world.conditions());
    world.join("a");
    world.run_for(299);
    world.executors.get_mut("a").unwrap().fails = true;
    world.run_for(1);
    let expected = "it failed 1 times, last: disk full; it is tried again in 0.5s";
    assert_eq!(outlook(&world).replace("500.0ms", "0.5s"), expected);
}

#[test]
fn a_handover_says_who_is_stopping_and_what_comes_then() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(400);
    world.slow("a");
    world.join("b");
    world.say("a", SessionEvent::Leaving);
    world.run_for(6_000);
    let outlook = world.namespace.explain(world.now, "0").unwrap().outlook;
    assert_eq!(outlook, "a has been stopping it for 6.0s; then it goes to b");
    assert_eq!(world.conditions(), "shard 0: a has been stopping it for 6s");
    world.drain_shards(&["0"]);
    let outlook = world.namespace.explain(world.now, "0").unwrap().outlook;
    assert_eq!(outlook, "it is drained by ann (disk) and runs nowhere until it is undrained");
}

#[test]
fn a_drain_in_progress_says_how_much_is_left() {
    let mut world = World::fixed(3);
    world.join("a");
    world.run_for(400);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    let waits = "3 shards are still there, 3 of them in handover";
    assert_eq!(world.namespace.drain_waits_for("a").as_deref(), Some(waits));
    assert_eq!(
        world.namespace.drain_waits_for("b").as_deref(),
        Some("3 shards are still there, 0 of them in handover").filter(|_| false)
    );
}

#[test]
fn a_namespace_in_order_has_nothing_to_say() {
    let mut world = World::fixed(3);
    world.join("a");
    world.run_for(400);
    assert_eq!(world.conditions(), "");
    let census = world.namespace.census();
    assert_eq!((census.shards, census.unowned, census.in_handover), (3, 0, 0));
}
