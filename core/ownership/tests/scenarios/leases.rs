//! Who is called dead, and when silence proves nothing.

use std::time::Duration;

use plimsoll_ownership::action::Farewell;
use plimsoll_ownership::event::What;
use plimsoll_ownership::namespace::Origin;
use plimsoll_ownership::record::Kind;
use plimsoll_placement::time::Time;

use crate::world::World;

const TEN: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

#[test]
fn a_lease_ends_exactly_its_length_after_the_last_heartbeat_received() {
    let mut world = ten_with_two_each();
    let heard = world.namespace.executor_of("a").unwrap().last_heard;
    world.crash("a");
    world.run_until(heard + Duration::from_nanos(1_999_999_999));
    assert!(world.knows("a"));
    world.run_until(heard + Duration::from_secs(2));
    assert!(!world.knows("a"));
    assert_eq!(world.executors["a"].farewell, Some(Farewell::Expired));
    assert_eq!(everything(&world), 20);
    assert_eq!(world.happened(What::Expired), 1);
}

#[test]
fn the_end_of_a_stream_does_not_shorten_the_lease() {
    let mut world = ten_with_two_each();
    world.break_stream("a");
    let heard = world.namespace.executor_of("a").unwrap().last_heard;
    world.run_until(heard + Duration::from_nanos(1_999_999_999));
    assert!(world.knows("a"));
    world.run_for(1);
    assert!(!world.knows("a"));
}

#[test]
fn the_end_of_a_stream_does_not_lengthen_the_lease() {
    let mut world = ten_with_two_each();
    let heard = world.namespace.executor_of("a").unwrap().last_heard;
    world.silence("a");
    world.run_until(heard + Duration::from_millis(1_500));
    world.break_stream("a");
    world.run_until(heard + Duration::from_secs(2));
    assert!(!world.knows("a"));
}

#[test]
fn unary_executors_have_the_longer_lease() {
    let mut world = World::fixed(1);
    world.heartbeat("go", &[]);
    let heard = world.now;
    world.run_until(heard + Duration::from_nanos(9_999_999_999));
    assert!(world.knows("go"));
    world.run_until(heard + Duration::from_secs(10));
    assert!(!world.knows("go"));
}

#[test]
fn six_of_ten_that_fall_silent_together_are_waited_for_one_lease() {
    let mut world = ten_with_two_each();
    for name in &TEN[..6] {
        world.silence(name);
    }
    let heard = world.namespace.executor_of("a").unwrap().last_heard;
    world.run_until(heard + Duration::from_secs(2));
    assert_eq!(world.happened(What::MassFailure), 1);
    assert_eq!(world.namespace.stats().moves, 0);
    assert!(TEN.iter().all(|name| world.knows(name)));
    assert!(
        world.conditions().contains("6 executors fell silent together"),
        "{}",
        world.conditions()
    );
    world.run_until(heard + Duration::from_millis(3_999));
    assert!(world.knows("a"));
    world.run_until(heard + Duration::from_secs(4));
    assert_eq!(world.namespace.executors().len(), 4);
    for name in &TEN[..6] {
        world.crash(name);
    }
    assert_eq!(everything(&world), 20);
    assert_eq!(world.happened(What::MassFailure), 1, "they had their time");
    assert_eq!(world.conditions(), "");
}

#[test]
fn those_that_come_back_from_a_mass_failure_keep_everything() {
    let mut world = ten_with_two_each();
    for name in &TEN[..6] {
        world.break_stream(name);
    }
    world.run_for(3_000);
    assert_eq!(world.happened(What::MassFailure), 1);
    for name in &TEN[..6] {
        world.reconnect(name);
    }
    world.run_for(10_000);
    assert_eq!((world.happened(What::Expired), everything(&world)), (0, 20));
    assert_eq!(world.namespace.stats().moves, 0);
}

#[test]
fn nothing_goes_to_those_that_are_held() {
    let mut world = ten_with_two_each();
    for name in &TEN[..6] {
        world.silence(name);
    }
    world.run_for(2_000);
    world.drain_host("j");
    assert_eq!(world.count("j"), 0);
    assert!(TEN[..6].iter().all(|name| world.count(name) == 2));
}

#[test]
fn one_of_two_is_no_mass_failure() {
    let mut world = World::fixed(4);
    world.join("a");
    world.join("b");
    world.run_for(400);
    world.crash("a");
    world.run_for(2_000);
    assert_eq!((world.happened(What::MassFailure), world.count("b")), (0, 4));
}

#[test]
fn mass_failures_can_be_switched_off() {
    let settings = [("mass_failure.enabled", "false")];
    let mut world = World::with(Kind::Fixed { shards: 20 }, &settings, Origin::New);
    fill(&mut world);
    for name in &TEN[..6] {
        world.crash(name);
    }
    world.run_for(2_500);
    assert_eq!((world.namespace.executors().len(), everything(&world)), (4, 20));
}

#[test]
fn those_that_left_empty_do_not_make_a_mass_failure() {
    let mut world = World::fixed(6);
    for name in ["go-1", "go-2", "go-3"] {
        world.heartbeat(name, &[]);
        world.heartbeat_leaving(name);
    }
    world.join("a");
    world.join("b");
    world.run_for(400);
    world.crash("a");
    world.run_for(12_000);
    assert_eq!(world.happened(What::MassFailure), 0);
    assert_eq!(world.count("b"), 6);
}

#[test]
fn a_server_that_stood_still_gives_everybody_that_time_back() {
    let mut world = ten_with_two_each();
    world.stall(60_000);
    assert_eq!(world.happened(What::Stalled), 1);
    world.run_for(10_000);
    assert_eq!((world.happened(What::Expired), world.happened(What::MassFailure)), (0, 0));
    assert_eq!(world.namespace.stats().moves, 0);
}

#[test]
fn a_stall_saves_nobody_who_is_dead() {
    let mut world = ten_with_two_each();
    world.crash("a");
    world.stall(60_000);
    world.run_for(2_100);
    assert_eq!((world.happened(What::Expired), everything(&world)), (1, 20));
}

#[test]
fn a_retry_that_was_due_while_nobody_was_there_is_no_stall() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(299);
    world.executors.get_mut("a").unwrap().fails = true;
    world.run_for(1);
    world.say("a", plimsoll_ownership::namespace::SessionEvent::Goodbye { returning: false });
    world.silence("a");
    world.run_for(20_000);
    world.join("b");
    world.run_for(2_000);
    assert_eq!((world.happened(What::Stalled), world.count("b")), (0, 1));
}

#[test]
fn a_stall_lengthens_the_recovery_too() {
    let settings = [];
    let mut world = World::with(Kind::Fixed { shards: 1 }, &settings, Origin::Forgetful);
    world.join("a");
    world.stall(30_000);
    assert_eq!(world.count("a"), 0, "somebody may run it who could not be heard");
    world.run_for(10_000);
    assert_eq!(world.count("a"), 1);
}

#[test]
fn an_executor_counts_on_the_lease_that_it_was_told() {
    let settings = [("lease", "20s"), ("beat", "5s"), ("heartbeat_ttl", "20s")];
    let mut world = World::with(Kind::Fixed { shards: 2 }, &settings, Origin::New);
    world.join("a");
    world.join("b");
    world.run_for(400);
    let heard = world.namespace.executor_of("a").unwrap().last_heard;
    world.silence("a");
    world.change(&[("lease", "1s"), ("beat", "100ms")]);
    assert_eq!(world.executors["b"].farewell, Some(Farewell::ServerLeaving));
    world.reconnect("b");
    world.run_until(heard + Duration::from_millis(19_999));
    assert!(world.knows("a"), "it may run what it has for 20 seconds");
    world.run_for(1);
    assert!(!world.knows("a"));
    assert_eq!(world.count("b"), 2);
}

#[test]
fn a_welcome_with_a_shorter_lease_may_not_have_been_read() {
    let settings = [("lease", "20s"), ("beat", "5s"), ("heartbeat_ttl", "20s")];
    let mut world = World::with(Kind::Fixed { shards: 2 }, &settings, Origin::New);
    world.join("a");
    world.join("b");
    world.run_for(400);
    let heard = world.namespace.executor_of("a").unwrap().last_heard;
    world.change(&[("lease", "1s"), ("beat", "100ms")]);
    world.reconnect("a");
    world.reconnect("b");
    world.silence("a");
    world.run_until(heard + Duration::from_millis(19_999));
    assert!(world.knows("a"), "it may run what it has for 20 seconds from its last beat");
    world.run_for(1);
    assert!(!world.knows("a"));
}

#[test]
fn nothing_is_due_twice() {
    let mut world = ten_with_two_each();
    for _ in 0..1_000 {
        let due = world.namespace.poll_timeout();
        assert!(due > world.now && due != Time::MAX);
        world.run_until(due);
    }
}

fn ten_with_two_each() -> World {
    let mut world = World::fixed(20);
    fill(&mut world);
    world
}

fn fill(world: &mut World) {
    for name in TEN {
        world.join(name);
    }
    world.run_for(400);
    assert!(TEN.iter().all(|name| world.count(name) == 2));
}

fn everything(world: &World) -> usize {
    world.executors.values().map(|executor| executor.runs.len()).sum()
}
