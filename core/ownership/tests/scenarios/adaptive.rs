//! The adaptive planner in a namespace: capacities, costs of a move, and how soon a
//! change for good is put right.

use std::sync::Arc;

use plimsoll_ownership::namespace::{Origin, SessionEvent};
use plimsoll_ownership::record::Kind;

use crate::world::World;

const SHARDS: u32 = 60;

fn adaptive(settings: &[(&str, &str)]) -> World {
    let mode = [("load_balancing_mode", "adaptive")];
    let all: Vec<_> = mode.iter().chain(settings).copied().collect();
    World::with(Kind::Fixed { shards: SHARDS }, &all, Origin::New)
}

/// Every owner reports a load for each of its shards.
fn report(world: &mut World, load: impl Fn(&str) -> f64) {
    let here = ["a", "b", "c"].into_iter().filter(|name| world.executors.contains_key(name));
    for name in here.collect::<Vec<_>>() {
        let runs: Vec<String> = world.runs(name).into_iter().map(str::to_owned).collect();
        let loads: Vec<(&str, f64)> = runs.iter().map(|s| (s.as_str(), load(s))).collect();
        if !loads.is_empty() {
            world.load(name, &loads);
        }
    }
}

fn settled(mut world: World) -> World {
    for name in ["a", "b", "c"] {
        world.join(name);
    }
    world.run_for(1_000);
    for _ in 0..30 {
        report(&mut world, |_| 1.0);
        world.run_for(1_000);
    }
    world
}

fn say_capacity(world: &mut World, name: &'static str, capacity: &str) {
    let label = ("plimsoll.capacity".to_owned(), capacity.to_owned());
    let metadata = Some(Arc::new([label].into()));
    let (loads, costs) = (Vec::new(), Vec::new());
    world.say(name, SessionEvent::Beat { sequence: 1_000, loads, costs, metadata });
}

#[test]
fn an_executor_that_can_carry_twice_as_much_is_given_twice_as_much() {
    let mut world = settled(adaptive(&[]));
    say_capacity(&mut world, "b", "2");
    for _ in 0..120 {
        report(&mut world, |_| 1.0);
        world.run_for(1_000);
    }
    assert_eq!([world.count("a"), world.count("b"), world.count("c")], [15, 30, 15]);
    assert_eq!(world.namespace.balance(world.now).spread, 0.0);
}

#[test]
fn the_settings_know_better_than_the_executor_what_its_host_can_carry() {
    let mut world = settled(adaptive(&[("host_capacities", "b=0.5")]));
    say_capacity(&mut world, "b", "2");
    for _ in 0..120 {
        report(&mut world, |_| 1.0);
        world.run_for(1_000);
    }
    assert_eq!([world.count("a"), world.count("b"), world.count("c")], [24, 12, 24]);
}

#[test]
fn what_is_no_capacity_counts_as_one() {
    let mut world = settled(adaptive(&[]));
    for text in ["-3", "NaN", "a lot", "1e300"] {
        say_capacity(&mut world, "a", text);
        world.run_for(2_000);
        assert!(world.namespace.executors().iter().all(|it| it.capacity == 1.0), "{text}");
    }
}

#[test]
fn a_shard_that_doubles_for_good_is_put_right_within_fifteen_seconds() {
    let mut world = settled(adaptive(&[]));
    let moves = world.namespace.stats().moves;
    let hot: Vec<String> = world.runs("a").into_iter().take(8).map(str::to_owned).collect();
    for _ in 0..15 {
        report(&mut world, |shard| if hot.iter().any(|it| it == shard) { 2.0 } else { 1.0 });
        world.run_for(1_000);
    }
    let balance = world.namespace.balance(world.now);
    assert!(balance.max_over_mean() < 1.06, "{balance:?}");
    let moved = world.namespace.stats().moves - moves;
    assert!((1..=6).contains(&moved), "{moved}");
}

#[test]
fn noise_alone_moves_nothing() {
    let mut world = settled(adaptive(&[]));
    let moves = world.namespace.stats().moves;
    for second in 0..600_u64 {
        // A hash of shard and second, 0.7 to 1.3.
        report(&mut world, |shard| {
            let seed = shard.parse::<u64>().unwrap() * 7919 + second * 104_729;
            0.7 + 0.6
                * ((seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1_u64 << 24) as f64)
        });
        world.run_for(1_000);
    }
    let moved = world.namespace.stats().moves - moves;
    assert!(moved <= 2, "{moved} moves of {SHARDS} shards in ten minutes");
}

#[test]
fn a_shard_that_is_dear_to_move_stays_where_another_will_do() {
    let mut world = adaptive(&[("load_balancing_adaptive.newcomer_delay", "0s")]);
    world.join("a");
    world.run_for(1_000);
    let dear: Vec<Arc<str>> = (0..30).map(|shard: u32| shard.to_string().into()).collect();
    let costs = dear.iter().map(|shard| (shard.clone(), 50.0)).collect();
    report(&mut world, |_| 1.0);
    world.run_for(1_000);
    let loads = Vec::new();
    world.say("a", SessionEvent::Beat { sequence: 1_000, loads, costs, metadata: None });
    world.join("b");
    for _ in 0..120 {
        report(&mut world, |_| 1.0);
        world.run_for(1_000);
    }
    let moved_dear = world.runs("b").iter().filter(|it| dear.iter().any(|d| **d == ***it)).count();
    assert_eq!((world.count("b"), moved_dear), (30, 0));
}

#[test]
fn a_leader_that_does_not_know_when_shards_moved_last_leaves_them_for_a_cooldown() {
    let mut world = settled(adaptive(&[]));
    world.restart(Origin::Takeover { confidence: std::time::Duration::from_secs(3) });
    for name in ["a", "b", "c"] {
        world.reconnect(name);
    }
    let hot: Vec<String> = world.runs("a").into_iter().take(5).map(str::to_owned).collect();
    let is_hot = |shard: &str| hot.iter().any(|it| it == shard);
    for second in 0..90 {
        report(&mut world, |shard| if is_hot(shard) { 5.0 } else { 1.0 });
        world.run_for(1_000);
        if second == 57 {
            assert_eq!(world.namespace.stats().moves, 0, "the default cooldown is a minute");
        }
    }
    assert!(world.namespace.stats().moves > 0);
    assert!(world.namespace.balance(world.now).max_over_mean() < 1.1);
}
