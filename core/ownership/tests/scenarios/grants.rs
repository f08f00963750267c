//! How shards come to their owners.

use plimsoll_ownership::action::{Outcome, Tell};
use plimsoll_ownership::event::What;
use plimsoll_ownership::namespace::SessionEvent;

use crate::world::World;

#[test]
fn the_first_executors_wait_for_each_other_and_share_evenly() {
    let mut world = World::fixed(12);
    world.join("a");
    world.run_for(100);
    world.join("b");
    world.run_for(100);
    world.join("c");
    assert_eq!(world.count("a"), 0);
    world.run_for(400);
    assert_eq!([world.count("a"), world.count("b"), world.count("c")], [4, 4, 4]);
    assert_eq!(world.namespace.stats().moves, 0);
}

#[test]
fn gathering_ends_after_two_seconds_although_executors_keep_coming() {
    let mut world = World::fixed(4);
    for (name, step) in [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("e", 4), ("f", 5), ("g", 6)] {
        world.join(name);
        world.run_for(290);
        assert!(step == 6 || world.namespace.census().unowned == 4, "placed in step {step}");
    }
    world.run_for(10);
    assert_eq!(world.namespace.census().unowned, 0);
}

#[test]
fn an_executor_that_comes_alone_gets_everything_after_a_moment() {
    let mut world = World::fixed(3);
    world.join("a");
    world.run_for(299);
    assert_eq!(world.count("a"), 0);
    world.run_for(1);
    assert_eq!(world.count("a"), 3);
}

#[test]
fn nobody_hears_of_a_grant_before_it_is_stored() {
    let mut world = World::fixed(1);
    world.stores_at_once = false;
    world.join("a");
    world.run_for(400);
    let request = world.locate("0");
    assert_eq!(world.phase("0"), "granting");
    assert!(world.routes.is_empty() && world.answer(request).is_none() && world.count("a") == 0);
    world.commit();
    assert_eq!(world.runs("a"), ["0"]);
    assert_eq!(&*world.routes["0"].0, "a");
    assert!(matches!(world.answer(request), Some(Outcome::Owner { generation: 1, .. })));
}

#[test]
fn a_move_is_revoked_confirmed_and_granted_with_a_higher_generation() {
    let mut world = placed_on_a(1);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    assert_eq!(world.phase("0"), "revoking");
    assert_eq!(world.count("b"), 0);
    assert_eq!(world.located("0"), "a", "the present owner answers until the next one may");
    world.run_for(5_000);
    assert_eq!(world.count("b"), 0, "a lives and has not confirmed");
    world.confirm("a", "0");
    assert_eq!(world.runs("b"), ["0"]);
    assert_eq!(world.generation("0"), 2);
    assert_eq!(world.namespace.stats().moves, 1);
}

#[test]
fn a_confirmation_of_an_earlier_generation_confirms_nothing() {
    let mut world = placed_on_a(1);
    world.restart_process("a");
    assert_eq!(world.generation("0"), 2);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    for generation in [0, 1] {
        world.say(
            "a",
            SessionEvent::Stopped { shard: "0".into(), generation, error: None, state: None },
        );
        assert_eq!(world.phase("0"), "revoking");
    }
    world.say(
        "a",
        SessionEvent::Stopped { shard: "0".into(), generation: 2, error: None, state: None },
    );
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn a_confirmation_of_a_later_generation_confirms_the_earlier_ones() {
    let mut world = placed_on_a(1);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    world.say(
        "a",
        SessionEvent::Stopped { shard: "0".into(), generation: 9, error: None, state: None },
    );
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn a_confirmation_by_somebody_else_confirms_nothing() {
    let mut world = placed_on_a(1);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    world.say(
        "b",
        SessionEvent::Stopped { shard: "0".into(), generation: 1, error: None, state: None },
    );
    assert_eq!(world.phase("0"), "revoking");
}

#[test]
fn a_grant_that_was_never_told_moves_on_without_a_wait() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(299);
    world.stores_at_once = false;
    world.run_for(1);
    world.break_stream("a");
    world.commit();
    world.stores_at_once = true;
    world.turn();
    assert_eq!((world.phase("0"), world.owner("0").as_deref()), ("owned", Some("a")));
    world.join("b");
    world.drain_host("a");
    assert_eq!(world.runs("b"), ["0"]);
    assert_eq!(world.generation("0"), 2);
}

#[test]
fn a_grant_that_waits_for_a_broken_stream_is_in_the_next_welcome() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(299);
    world.stores_at_once = false;
    world.run_for(1);
    world.break_stream("a");
    world.commit();
    world.reconnect("a");
    assert_eq!(world.runs("a"), ["0"]);
}

#[test]
fn the_target_of_a_move_may_die_on_the_way() {
    let mut world = placed_on_a(1);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    world.say("b", SessionEvent::Goodbye { returning: false });
    world.silence("b");
    world.confirm("a", "0");
    assert_eq!(world.phase("0"), "unowned");
    world.join("c");
    world.run_for(300);
    assert_eq!(world.runs("c"), ["0"]);
}

#[test]
fn an_owner_that_dies_while_its_grant_is_stored_gets_nothing() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(299);
    world.stores_at_once = false;
    world.run_for(1);
    world.say("a", SessionEvent::Goodbye { returning: false });
    world.silence("a");
    world.commit();
    assert_eq!(world.phase("0"), "unowned");
    assert!(world.routes.is_empty());
    world.join("b");
    world.run_for(300);
    world.commit();
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn a_start_that_fails_is_tried_again_later_and_later() {
    let mut world = placed_on_a(1);
    let mut waits = Vec::new();
    for _ in 0..9 {
        let failed_at = world.now;
        fail(&mut world, "a", "0");
        let before = world.happened(What::Granted);
        let granted = |world: &World| world.happened(What::Granted) > before;
        let tenths = (1..100).find(|_| {
            world.run_for(100);
            granted(&world)
        });
        assert!(tenths.is_some(), "it is never tried again");
        waits.push((world.now - failed_at).as_millis());
    }
    // `Started` was said in between, which forgives.
    assert!(waits.iter().all(|wait| *wait == 500), "{waits:?}");
}

#[test]
fn a_shard_that_never_starts_waits_twice_as_long_each_time_up_to_half_a_minute() {
    let mut world = World::fixed(1);
    world.join("a");
    world.slow("a");
    world.run_for(299);
    world.executors.get_mut("a").unwrap().fails = true;
    let mut granted = Vec::new();
    for _ in 0..1_000 {
        world.run_for(100);
        if world.happened(What::Granted) > granted.len() {
            granted.push(world.now);
        }
    }
    let waits: Vec<_> = granted.windows(2).map(|two| (two[1] - two[0]).as_millis()).collect();
    assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
}

#[test]
fn a_shard_that_fails_on_one_executor_may_start_on_another() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(299);
    world.executors.get_mut("a").unwrap().fails = true;
    world.run_for(100);
    world.join("b");
    world.say("a", SessionEvent::Leaving);
    world.run_for(600);
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn load_is_evened_out_and_the_moves_are_counted() {
    let mut world = placed_on_a(100);
    let shards: Vec<_> = (0..100).map(|n| n.to_string()).collect();
    let loads: Vec<_> = shards.iter().map(|shard| (shard.as_str(), 1.0)).collect();
    world.load("a", &loads);
    world.run_for(1_000);
    world.join("b");
    world.run_for(60_000);
    assert!((40..=60).contains(&world.count("b")), "{}", world.count("b"));
    let stats = world.namespace.stats();
    assert_eq!((stats.moves as usize, stats.balance_moves), (world.count("b"), stats.moves));
}

#[test]
fn a_welcome_gives_lease_and_beat_of_the_settings() {
    let mut world = World::fixed(1);
    world.join("a");
    let welcome = world.told_to("a")[0].clone();
    let Tell::Welcome { lease, beat, grants, .. } = welcome else { panic!("{welcome:?}") };
    assert_eq!((lease.as_millis(), beat.as_millis(), grants.len()), (2_000, 500, 0));
}

fn placed_on_a(shards: u32) -> World {
    let mut world = World::fixed(shards);
    world.join("a");
    world.run_for(400);
    assert_eq!(world.count("a"), shards as usize);
    world
}

fn fail(world: &mut World, name: &'static str, shard: &str) {
    let generation = world.executors.get_mut(name).unwrap().runs.remove(shard).unwrap();
    let error = Some("disk full".to_owned());
    world.say(name, SessionEvent::Stopped { shard: shard.into(), generation, error, state: None });
}
