//! Freeze, settings, reset, and looking without touching.

use plimsoll_ownership::action::Outcome;
use plimsoll_ownership::event::What;
use plimsoll_ownership::namespace::{Order, Origin, SessionEvent};
use plimsoll_placement::policy::Mode;

use crate::world::World;

#[test]
fn frozen_balance_moves_nothing_but_what_must() {
    let mut world = uneven();
    world.order(Order::Freeze(true));
    assert_eq!(world.happened(What::Frozen), 1);
    world.run_for(30_000);
    assert_eq!(world.namespace.stats().balance_moves, 0);
    assert!(world.conditions().contains("balance is frozen"), "{}", world.conditions());
    world.drain_host("b");
    assert_eq!(world.count("b"), 0, "a drain is not for balance");
    world.undrain_host("b");
    world.order(Order::Freeze(false));
    world.run_for(30_000);
    assert!(world.namespace.stats().balance_moves > 0);
}

#[test]
fn a_freeze_survives_a_restart() {
    let mut world = uneven();
    world.order(Order::Freeze(true));
    world.restart(Origin::Durable);
    assert!(world.namespace.is_frozen());
}

#[test]
fn settings_change_once_they_are_stored() {
    let mut world = World::fixed(4);
    world.stores_at_once = false;
    world.change(&[("load_balancing_mode", "naive"), ("period", "5s")]);
    assert_eq!(world.namespace.settings().policy.mode, Mode::Adaptive);
    world.commit();
    assert_eq!(world.namespace.settings().policy.mode, Mode::Naive);
    let detail = world.events.iter().find(|event| event.what == What::SettingsChanged);
    assert_eq!(detail.unwrap().detail, "load_balancing_mode=naive, period=5s");
    world.restart(Origin::Durable);
    assert_eq!(world.namespace.settings().policy.mode, Mode::Naive);
}

#[test]
fn a_freeze_and_a_change_of_settings_in_one_batch_are_both_stored() {
    let mut world = World::fixed(1);
    world.stores_at_once = false;
    world.drain_shards(&["0"]);
    world.order(Order::Freeze(true));
    world.change(&[("period", "5s")]);
    world.commit();
    world.commit();
    assert!(world.store.record.frozen, "the change of settings undid the freeze in the store");
    assert_eq!(world.store.record.settings, [("period".to_owned(), "5s".to_owned())]);
}

#[test]
fn a_change_of_settings_and_a_freeze_in_one_batch_are_both_stored() {
    let mut world = World::fixed(1);
    world.stores_at_once = false;
    world.drain_shards(&["0"]);
    world.change(&[("period", "5s")]);
    world.order(Order::Freeze(true));
    world.commit();
    world.commit();
    assert!(world.store.record.frozen);
    assert_eq!(world.store.record.settings, [("period".to_owned(), "5s".to_owned())]);
}

#[test]
fn a_reset_places_fixed_shards_anew_once_they_have_stopped() {
    let mut world = uneven();
    world.drain_shards(&["0"]);
    world.drain_host("b");
    world.slow("a");
    let request = world.order(Order::Reset);
    assert!(matches!(world.answer(request), Some(Outcome::Ordered { .. })));
    assert!(world.namespace.drained_shards().is_empty());
    assert!(world.namespace.drained_hosts().is_empty());
    assert!(world.store.drained_shards.is_empty() && world.store.drained_hosts.is_empty());
    assert_eq!(world.phase("1"), "revoking");
    for shard in world.runs("a").into_iter().map(str::to_owned).collect::<Vec<_>>() {
        if world.phase(&shard) == "revoking" {
            world.confirm("a", &shard);
        }
    }
    assert_eq!(world.namespace.census().in_handover, 0);
    assert_eq!(world.executors["a"].runs.len() + world.executors["b"].runs.len(), 20);
}

#[test]
fn a_reset_ends_every_ephemeral_shard() {
    let mut world = World::ephemeral();
    world.join("a");
    world.join("b");
    world.drain_host("b");
    for n in 0..9 {
        world.locate(&format!("job-{n}"));
    }
    world.slow("a");
    world.undrain_host("b");
    world.drain_host("a");
    assert_eq!(world.phase("job-1"), "revoking");
    world.order(Order::Reset);
    for shard in world.runs("a").into_iter().map(str::to_owned).collect::<Vec<_>>() {
        world.confirm("a", &shard);
    }
    assert_eq!(world.namespace.census().shards, 0);
    assert!(world.store.grants.is_empty());
}

#[test]
fn a_reset_forgets_ephemeral_shards_that_nobody_owns() {
    let mut world = World::ephemeral();
    world.join("a");
    world.locate("job");
    world.say("a", SessionEvent::Goodbye { returning: false });
    world.silence("a");
    assert_eq!(world.phase("job"), "unowned");
    world.order(Order::Reset);
    assert_eq!((world.namespace.census().shards, world.store.grants.len()), (0, 0));
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut world = uneven();
    let (routes, events) = (world.routes.clone(), world.events.len());
    for mode in [None].into_iter().chain(Mode::ALL.map(Some)) {
        let planned = world.namespace.dry_run(world.now, mode);
        assert_eq!(planned.mode, mode.unwrap_or(Mode::Adaptive));
        assert_eq!(planned.plan.moves.len(), planned.moved.len());
    }
    assert!(!world.namespace.dry_run(world.now, None).plan.moves.is_empty());
    world.turn();
    assert_eq!((world.routes.clone(), world.events.len()), (routes, events));
    assert_eq!(world.namespace.take_commit(), None);
    assert_eq!(world.namespace.poll_action(), None);
}

#[test]
fn an_order_that_changes_nothing_is_answered_all_the_same() {
    let mut world = World::fixed(1);
    let request = world.undrain_shards(&["0"]);
    assert_eq!(world.answer(request), Some(&Outcome::Ordered { changed: Vec::new() }));
}

/// `a` runs twenty shards of load one; `b` has just come.
fn uneven() -> World {
    let mut world = World::fixed(20);
    world.join("a");
    world.run_for(400);
    let shards: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    let loads: Vec<_> = shards.iter().map(|shard| (shard.as_str(), 1.0)).collect();
    world.load("a", &loads);
    world.run_for(600);
    world.join("b");
    world
}
