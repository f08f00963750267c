//! Sessions that begin, end, replace each other and say hello with something.

use plimsoll_ownership::action::{Farewell, RevokeReason, Tell};
use plimsoll_ownership::event::What;
use plimsoll_ownership::ids::SessionId;
use plimsoll_ownership::message::Grant;
use plimsoll_ownership::namespace::{Hello, Holding, SessionEvent};

use crate::world::World;

#[test]
fn a_goodbye_frees_everything_at_once() {
    let mut world = two_with_two_each();
    world.say("a", SessionEvent::Goodbye { returning: false });
    assert_eq!(world.executors["a"].farewell, Some(Farewell::Goodbye));
    assert_eq!(world.count("b"), 4);
    assert!(!world.knows("a"));
    assert_eq!(world.happened(What::Left), 1);
}

#[test]
fn an_executor_that_leaves_is_emptied_one_confirmation_at_a_time() {
    let mut world = two_with_two_each();
    world.slow("a");
    let first = world.runs("a")[0].to_owned();
    world.say("a", SessionEvent::Leaving);
    world.confirm("a", &first);
    assert_eq!((world.count("a"), world.count("b")), (1, 3));
}

#[test]
fn a_later_session_replaces_the_earlier_one_and_keeps_the_shards() {
    let mut world = two_with_two_each();
    let (earlier, running) = (world.executors["a"].id, world.count("a"));
    world.reconnect("a");
    let farewell = Tell::Farewell(Farewell::Replaced);
    assert!(world.told.contains(&(earlier, farewell)));
    assert_eq!(world.count("a"), running);
    let generation = world.generation("0");
    for shard in ["0", "1", "2", "3"] {
        let shard = shard.into();
        world
            .say_on(earlier, SessionEvent::Stopped { shard, generation, error: None, state: None });
    }
    world.say_on(earlier, SessionEvent::Goodbye { returning: false });
    assert!(world.knows("a"), "an ended session says nothing any more");
    assert_eq!(world.count("b"), 2);
}

#[test]
fn a_process_that_restarts_under_its_id_is_granted_its_shards_anew() {
    let mut world = two_with_two_each();
    let before = world.executors["a"].runs.clone();
    world.restart_process("a");
    assert_eq!(world.count("a"), 2);
    for (shard, generation) in before {
        assert!(world.generation(&shard) > generation, "a late write of the dead process passes");
    }
    assert_eq!(world.namespace.stats().moves, 0);
}

#[test]
fn a_hello_that_was_overtaken_counts_for_nothing() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(400);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    let (session, attempt) = (world.executors["a"].id, 1);
    let stale = Hello {
        executor: "a".into(),
        host: "a".into(),
        metadata: Default::default(),
        attempt,
        running: Vec::new(),
        prepares: false,
    };
    world.namespace.hello(world.now, SessionId(99), &stale);
    world.turn();
    assert_eq!(world.phase("0"), "revoking", "what a hello said long ago confirms nothing");
    assert_eq!(world.executors["a"].farewell, None, "the later session goes on");
    assert_eq!(world.executors["a"].id, session);
    let refusal = (SessionId(99), Tell::Farewell(Farewell::ServerLeaving));
    assert!(world.told.contains(&refusal));
    world.confirm("a", "0");
    assert_eq!(world.count("b"), 1);
}

#[test]
fn the_end_of_an_earlier_stream_does_not_touch_the_later_session() {
    let mut world = two_with_two_each();
    let earlier = world.executors["a"].id;
    world.reconnect("a");
    world.namespace.session_closed(earlier);
    world.turn();
    assert_eq!(world.namespace.executor_of("a").unwrap().status, "active");
}

#[test]
fn an_executor_without_a_session_keeps_its_shards_and_gets_none() {
    let mut world = two_with_two_each();
    world.break_stream("a");
    world.say("b", SessionEvent::Leaving);
    assert_eq!((world.count("a"), world.count("b")), (2, 2));
    assert_eq!(world.namespace.executor_of("a").unwrap().status, "silent");
    world.reconnect("a");
    assert_eq!((world.count("a"), world.count("b")), (4, 0));
}

#[test]
fn a_hello_without_a_revoked_shard_confirms_it() {
    let mut world = one_being_moved_to_b();
    world.break_stream("a");
    world.hello("a", Vec::new());
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn a_hello_with_a_revoked_shard_keeps_it_until_it_is_revoked_again() {
    let mut world = one_being_moved_to_b();
    world.break_stream("a");
    world.hello("a", vec![holding("0", 1, false)]);
    assert_eq!(world.count("b"), 0);
    let [Tell::Welcome { grants, .. }, then, ..] = &world.told_to("a")[..] else {
        panic!("no welcome")
    };
    assert_eq!(*grants, [Grant::new("0", 1)], "what is not granted is not handed over");
    let revoked =
        matches!(then, Tell::Revoked { generation: 1, reason: RevokeReason::Move(_), .. });
    assert!(revoked, "{then:?}");
    world.say("a", stopped("0", 1));
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn a_hello_with_a_revoked_shard_that_stops_is_not_granted_it_again() {
    let mut world = one_being_moved_to_b();
    world.break_stream("a");
    world.hello("a", vec![holding("0", 1, true)]);
    let Tell::Welcome { grants, .. } = world.told_to("a")[0] else { panic!("no welcome") };
    assert_eq!(*grants, []);
    world.say("a", stopped("0", 1));
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn a_stop_that_began_by_itself_is_waited_for() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(400);
    world.break_stream("a");
    world.slow("a");
    world.hello("a", vec![holding("0", 1, true)]);
    world.join("b");
    world.run_for(1_000);
    assert_eq!((world.phase("0"), world.count("b")), ("revoking", 0));
    world.say("a", stopped("0", 1));
    world.run_for(100);
    assert_eq!(world.count("a") + world.count("b"), 1);
    assert_eq!(world.generation("0"), 2);
}

#[test]
fn a_stop_under_an_earlier_grant_is_asked_to_confirm_the_present_one() {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(400);
    // It stops at the end of its lease, and slowly; the server buries it and
    // grants the shard to it anew when it is back.
    world.slow("a");
    world.crash("a");
    world.run_for(2_000);
    world.hello("a", vec![holding("0", 1, true)]);
    world.run_for(400);
    assert_eq!((world.phase("0"), world.generation("0")), ("owned", 2));
    world.break_stream("a");
    world.hello("a", vec![holding("0", 1, true)]);
    let revoked = |message: &&Tell| matches!(message, Tell::Revoked { generation: 2, .. });
    assert!(world.told_to("a").iter().any(revoked), "the stop would confirm generation 1 only");
    world.say("a", stopped("0", 2));
    world.run_for(100);
    assert_eq!(world.generation("0"), 3);
}

#[test]
fn a_shard_that_a_hello_lists_and_nobody_granted_is_not_in_the_welcome() {
    let mut world = two_with_two_each();
    world.break_stream("a");
    let runs = world.executors["a"].runs.clone();
    let mut running: Vec<_> = runs.iter().map(|(shard, g)| holding(shard, *g, false)).collect();
    running.push(holding("77", 5, false));
    running.extend(world.runs("b").iter().map(|shard| holding(shard, 1, false)));
    world.hello("a", running);
    let Tell::Welcome { grants, .. } = world.told_to("a")[0] else { panic!("no welcome") };
    let granted: Vec<_> = grants.iter().map(|it| (&it.shard, &it.generation)).collect();
    assert_eq!(granted.len(), 2);
    assert!(granted.iter().all(|grant| runs.get(grant.0) == Some(grant.1)));
}

#[test]
fn an_executor_that_moves_to_a_drained_host_is_emptied() {
    let mut world = two_with_two_each();
    world.drain_host("rack-9");
    world.executors.get_mut("a").unwrap().host = "rack-9".into();
    world.reconnect("a");
    assert_eq!((world.count("a"), world.count("b")), (0, 4));
}

fn two_with_two_each() -> World {
    let mut world = World::fixed(4);
    world.join("a");
    world.join("b");
    world.run_for(400);
    assert_eq!((world.count("a"), world.count("b")), (2, 2));
    world
}

fn one_being_moved_to_b() -> World {
    let mut world = World::fixed(1);
    world.join("a");
    world.run_for(400);
    world.slow("a");
    world.join("b");
    world.drain_host("a");
    assert_eq!(world.phase("0"), "revoking");
    world
}

fn holding(shard: &str, generation: u64, stopping: bool) -> Holding {
    Holding { shard: shard.into(), generation, stopping }
}

fn stopped(shard: &str, generation: u64) -> SessionEvent {
    SessionEvent::Stopped { shard: shard.into(), generation, error: None, state: None }
}
