//! A server that starts again, with and without a memory.

use std::time::Duration;

use plimsoll_ownership::action::Outcome;
use plimsoll_ownership::namespace::{Holding, Origin, SessionEvent};
use plimsoll_ownership::record::{GrantRecord, Kind, NamespaceRecord, Write};

use crate::store::Store;
use crate::world::World;

#[test]
fn a_durable_restart_moves_nothing() {
    let mut world = two_with_three_each();
    let before = world.routes.clone();
    world.restart(Origin::Durable);
    assert_eq!(world.routes, before);
    assert_eq!(world.located("0"), "a", "lookups are answered at once");
    world.reconnect("a");
    world.run_for(500);
    world.reconnect("b");
    world.run_for(30_000);
    assert_eq!((world.routes.clone(), world.namespace.stats().moves), (before, 0));
    assert_eq!(world.written, [], "nothing was written either");
}

#[test]
fn an_executor_known_from_the_store_has_a_full_lease_to_be_heard() {
    let mut world = two_with_three_each();
    world.restart(Origin::Durable);
    let started = world.now;
    world.reconnect("b");
    world.crash("a");
    world.run_until(started + Duration::from_nanos(9_999_999_999));
    assert_eq!((world.knows("a"), world.count("b")), (true, 3));
    assert!(
        world.conditions().contains("1 executors have not been heard yet"),
        "{}",
        world.conditions()
    );
    world.run_until(started + Duration::from_secs(10));
    assert_eq!((world.knows("a"), world.count("b")), (false, 6));
}

#[test]
fn generations_grow_over_a_restart() {
    let mut world = two_with_three_each();
    let highest = (0..6).map(|n| world.generation(&n.to_string())).max().unwrap();
    let floor = world.store.generation_floor;
    assert!(floor >= highest);
    world.restart(Origin::Durable);
    world.reconnect("a");
    world.reconnect("b");
    world.drain_host("a");
    assert!(world.executors["b"].runs.values().filter(|g| **g > floor).count() == 3);
    assert!(world.store.generation_floor > floor);
}

#[test]
fn a_handover_that_a_restart_interrupts_is_finished() {
    let mut world = two_with_three_each();
    world.slow("a");
    world.drain_host("a");
    world.restart(Origin::Durable);
    world.reconnect("b");
    let stopping = world.executors["a"].runs.iter();
    let stopping = stopping
        .map(|(shard, g)| Holding { shard: shard.clone(), generation: *g, stopping: true })
        .collect();
    world.hello("a", stopping);
    world.run_for(1_000);
    assert_eq!(world.count("b"), 3);
    for shard in world.runs("a").into_iter().map(str::to_owned).collect::<Vec<_>>() {
        world.confirm("a", &shard);
    }
    assert_eq!(world.count("b"), 6);
}

#[test]
fn a_forgetful_restart_takes_over_what_sessions_report() {
    let mut world = two_with_three_each();
    let before = world.routes.clone();
    world.restart(Origin::Forgetful);
    let request = world.locate("0");
    assert_eq!(world.answer(request), None);
    world.reconnect("a");
    assert!(matches!(world.answer(request), Some(Outcome::Owner { .. })));
    world.run_for(3_000);
    world.reconnect("b");
    world.run_for(30_000);
    assert_eq!((world.routes.clone(), world.namespace.stats().moves), (before, 0));
    assert_eq!(world.store.grants.len(), 6, "it is stored again");
}

#[test]
fn a_forgetful_restart_takes_over_what_heartbeats_report() {
    let mut world = World::with(Kind::Fixed { shards: 3 }, &[], Origin::Forgetful);
    let answer = world.heartbeat("go-1", &["0", "2"]);
    assert_eq!(answer.ready.len(), 2);
    world.run_for(1_000);
    let answer = world.heartbeat("go-2", &["2"]);
    assert_eq!((answer.ready.len(), &*answer.revoked[0]), (0, "2"), "the first to report has it");
    assert_eq!(world.phase("1"), "unowned", "somebody else may yet report it");
    assert!(world.conditions().contains("a store that forgets"), "{}", world.conditions());
    world.run_for(8_000);
    world.heartbeat("go-1", &["0", "2"]);
    world.run_for(1_000);
    assert_eq!(world.phase("1"), "owned");
}

#[test]
fn what_somebody_is_done_with_when_the_server_forgets_is_revoked_and_waited_for() {
    let mut world = World::with(Kind::Ephemeral, &[], Origin::Forgetful);
    world.join("a");
    for _ in 0..15 {
        let answer = world.heartbeat_done("go", &["job"], "job");
        assert_eq!(&*answer.revoked[0], "job");
        world.run_for(1_000);
    }
    let request = world.locate("job");
    assert_eq!((world.answer(request), world.count("a")), (None, 0));
    world.heartbeat_leaving("go");
    assert_eq!(world.runs("a"), ["job"]);
}

#[test]
fn what_is_stopping_when_the_server_forgets_is_waited_for() {
    let mut world = World::with(Kind::Fixed { shards: 1 }, &[], Origin::Forgetful);
    world.join("b");
    world.join("a");
    world.slow("a");
    world.hello("a", vec![Holding { shard: "0".into(), generation: 4, stopping: true }]);
    world.run_for(20_000);
    assert_eq!((world.phase("0"), world.count("b")), ("revoking", 0));
    world.say(
        "a",
        SessionEvent::Stopped { shard: "0".into(), generation: 4, error: None, state: None },
    );
    world.run_for(100);
    assert_eq!(world.phase("0"), "owned");
}

#[test]
fn of_two_that_say_they_run_a_shard_the_later_grant_is_believed() {
    for stopping in [true, false] {
        let mut world = World::with(Kind::Fixed { shards: 1 }, &[], Origin::Forgetful);
        world.join("a");
        world.join("b");
        world.slow("a");
        world.hello("a", vec![Holding { shard: "0".into(), generation: 4, stopping }]);
        world.hello("b", vec![Holding { shard: "0".into(), generation: 9, stopping: false }]);
        assert_eq!((world.owner("0").as_deref(), world.generation("0")), (Some("b"), 9));
        assert_eq!(world.runs("b"), ["0"]);
        world.say(
            "a",
            SessionEvent::Stopped { shard: "0".into(), generation: 4, error: None, state: None },
        );
        world.run_for(15_000);
        assert_eq!((world.owner("0").as_deref(), world.generation("0")), (Some("b"), 9));
    }
}

#[test]
fn what_was_taken_over_is_given_up_when_its_executor_says_that_it_runs_no_more() {
    let mut world = World::with(Kind::Fixed { shards: 1 }, &[], Origin::Forgetful);
    world.join("a");
    world.join("b");
    world.hello("a", vec![Holding { shard: "0".into(), generation: 4, stopping: false }]);
    world.executors.get_mut("a").unwrap().runs.clear();
    world.hello("a", Vec::new());
    assert_eq!((world.phase("0"), world.count("a")), ("unowned", 0));
    world.hello("b", vec![Holding { shard: "0".into(), generation: 3, stopping: false }]);
    assert_eq!(world.phase("0"), "unowned", "an earlier grant than one that is known");
    world.hello("b", vec![Holding { shard: "0".into(), generation: 5, stopping: false }]);
    assert_eq!(world.owner("0").as_deref(), Some("b"));
}

#[test]
fn generations_grow_even_if_the_store_forgets() {
    let mut world = World::with(Kind::Fixed { shards: 1 }, &[], Origin::Forgetful);
    world.join("a");
    world.run_for(11_000);
    let before = world.generation("0");
    world.restart(Origin::Forgetful);
    world.crash("a");
    world.join("b");
    world.run_for(11_000);
    assert_eq!(world.count("b"), 1);
    assert!(world.generation("0") > before, "an application refuses an older generation");
}

#[test]
fn generations_that_were_taken_over_are_never_granted_again() {
    let mut world = World::with(Kind::Fixed { shards: 1 }, &[], Origin::Forgetful);
    world.join("a");
    let far = u64::MAX / 2;
    world.hello("a", vec![Holding { shard: "0".into(), generation: far, stopping: false }]);
    world.drain_shards(&["0"]);
    world.undrain_shards(&["0"]);
    assert!(world.store.generation_floor > far);
    world.run_for(15_000);
    assert!(world.generation("0") > far);
}

#[test]
fn a_failed_start_while_the_server_finds_out_keeps_no_timer_busy() {
    let mut world = World::with(Kind::Fixed { shards: 1 }, &[], Origin::Forgetful);
    world.join("a");
    world.hello("a", vec![Holding { shard: "0".into(), generation: 4, stopping: false }]);
    let error = Some("disk full".to_owned());
    world.executors.get_mut("a").unwrap().runs.clear();
    world.say("a", SessionEvent::Stopped { shard: "0".into(), generation: 4, error, state: None });
    world.run_for(12_000);
    assert_eq!(world.runs("a"), ["0"]);
}

#[test]
fn a_shrunk_fixed_namespace_ends_the_grants_beyond_it() {
    let mut store = two_with_three_each().store;
    store.record = NamespaceRecord { kind: Kind::Fixed { shards: 4 }, ..store.record };
    let mut world =
        World::on(store, plimsoll_placement::time::Time::from_millis(9), Origin::Durable);
    assert_eq!(world.store.grants.len(), 4);
    assert_eq!(world.located("5"), "Some(NotFound)");
    world.join("a");
    let runs =
        ["0", "2", "4"].map(|key| Holding { shard: key.into(), generation: 1, stopping: false });
    world.hello("a", runs.to_vec());
    assert!(!world.runs("a").contains(&"4"));
}

#[test]
fn the_first_grants_of_a_new_namespace_are_as_it_was_created() {
    let mut world = created_with_a_and_b();
    world.join("a");
    world.join("b");
    world.run_for(500);
    assert_eq!((world.runs("a"), world.runs("b")), (vec!["1"], vec!["0"]));
    let because = world.namespace.explain(world.now, "0").unwrap().because;
    assert_eq!(because, "the namespace was created with this owner");
}

#[test]
fn an_owner_that_a_namespace_was_created_with_is_dead_after_its_own_lease() {
    let mut world = created_with_a_and_b();
    world.join("a");
    world.join("b");
    world.run_for(500);
    world.crash("a");
    world.run_for(2_100);
    assert!(!world.knows("a"));
    assert_eq!(world.runs("b"), ["0", "1"]);
}

fn created_with_a_and_b() -> World {
    let record = NamespaceRecord {
        name: "orders".into(),
        kind: Kind::Fixed { shards: 2 },
        settings: Vec::new(),
        frozen: false,
    };
    let mut store = Store::new(record);
    let grant = |executor: &str| GrantRecord { executor: executor.into(), generation: 1 };
    store.apply(&[
        Write::GenerationFloor(1),
        Write::Grant { shard: "0".into(), grant: grant("b") },
        Write::Grant { shard: "1".into(), grant: grant("a") },
    ]);
    World::on(store, plimsoll_placement::time::Time::from_millis(9), Origin::New)
}

#[test]
fn smoothed_loads_survive_by_their_checkpoint() {
    let mut world = two_with_three_each();
    world.load("a", &[("0", 7.0)]);
    world.run_for(600);
    world.namespace.request_checkpoint(world.now);
    world.turn();
    world.restart(Origin::Durable);
    assert_eq!(world.namespace.explain(world.now, "0").unwrap().smoothed_load, Some(7.0));
}

fn two_with_three_each() -> World {
    let mut world = World::fixed(6);
    world.join("a");
    world.join("b");
    world.run_for(400);
    assert_eq!((world.count("a"), world.count("b")), (3, 3));
    world
}
