//! Planned moves: the next owner makes ready first, the owner before leaves its
//! state, and each is told of the other.

use plimsoll_ownership::action::Tell;
use plimsoll_ownership::event::What;
use plimsoll_ownership::message::{Grant, MAX_STATE_BYTES, NextOwner, Preparation, State};
use plimsoll_ownership::namespace::{Holding, Order, Origin, SessionEvent};
use plimsoll_ownership::record::Kind;

use crate::world::World;

#[test]
fn the_next_owner_makes_ready_before_the_present_one_is_told_to_stop() {
    let mut world = a_has_it_and_b_prepares(&[]);
    world.drain_host("a");
    let preparation = Preparation { shard: "0".into(), generation: 1 };
    assert!(world.told_to("b").contains(&&Tell::Prepare(preparation)));
    assert_eq!((world.owner("0"), world.phase("0")), (Some("a".into()), "owned"));
    let explained = world.namespace.explain(world.now, "0").unwrap().outlook;
    assert!(explained.starts_with("b has been preparing it for"), "{explained}");
    world.run_for(1_000);
    assert_eq!(world.runs("a"), ["0"], "it serves on");
    world.say("b", prepared(1, None));
    assert_eq!((world.runs("a"), world.runs("b")), (vec![], vec!["0"]));
    assert_eq!(world.namespace.stats().moves, 1);
}

#[test]
fn a_preparation_that_takes_too_long_is_not_waited_for() {
    let mut world = a_has_it_and_b_prepares(&[("prepare_timeout", "1s")]);
    world.drain_host("a");
    world.run_for(999);
    assert_eq!(world.runs("a"), ["0"]);
    world.run_for(1);
    assert_eq!(world.runs("b"), ["0"]);
    let event = world.events.iter().find(|event| event.what == What::PrepareFailed).unwrap();
    assert_eq!(event.detail, "b did not answer for 1.0s: it moves without");
}

#[test]
fn what_cannot_be_made_ready_here_is_made_ready_elsewhere_and_moves_all_the_same() {
    let mut world = a_has_it_and_b_prepares(&[]);
    prepares(&mut world, "c");
    world.drain_host("a");
    world.say("b", prepared(1, Some("no memory")));
    assert!(world.told_to("c").iter().any(|told| matches!(told, Tell::Prepare(_))));
    world.say("c", prepared(1, Some("no memory either")));
    assert_eq!(world.runs("c"), ["0"], "the host is to be empty, warm or cold");
    assert_eq!(world.happened(What::PrepareFailed), 2);
}

#[test]
fn a_drain_of_the_shard_ends_its_preparation() {
    let mut world = a_has_it_and_b_prepares(&[]);
    world.drain_host("a");
    world.drain_shards(&["0"]);
    let abandoned = Preparation { shard: "0".into(), generation: 1 };
    assert!(world.told_to("b").contains(&&Tell::Abandon(abandoned)));
    world.say("b", prepared(1, None));
    world.run_for(10_000);
    assert_eq!((world.phase("0"), world.count("a"), world.count("b")), ("unowned", 0, 0));
}

#[test]
fn a_drain_of_the_next_owners_host_sends_the_shard_elsewhere() {
    let mut world = a_has_it_and_b_prepares(&[]);
    world.join("c");
    world.drain_host("a");
    world.drain_host("b");
    assert_eq!((world.count("a"), world.runs("c")), (0, vec!["0"]));
}

#[test]
fn the_death_of_either_side_ends_a_preparation() {
    let mut world = a_has_it_and_b_prepares(&[("prepare_timeout", "1h")]);
    world.drain_host("a");
    world.crash("b");
    world.run_for(2_500);
    assert_eq!((world.knows("b"), world.runs("a")), (false, vec!["0"]), "a serves on");
    prepares(&mut world, "c");
    assert!(world.told_to("c").iter().any(|told| matches!(told, Tell::Prepare(_))));
    world.crash("a");
    world.run_for(2_500);
    assert_eq!(world.runs("c"), ["0"], "there is nobody to wait for");
}

#[test]
fn balance_that_is_frozen_begins_no_move_and_ends_what_only_prepares() {
    let settings = [("load_balancing_mode", "greedy")];
    let mut world = World::with(Kind::Fixed { shards: 4 }, &settings, Origin::New);
    world.join("a");
    world.run_for(400);
    prepares(&mut world, "b");
    world.load("a", &[("0", 8.0), ("1", 8.0), ("2", 8.0), ("3", 8.0)]);
    world.run_for(3_000);
    assert!(world.happened(What::Preparing) > 0, "{:?}", world.events);
    world.order(Order::Freeze(true));
    assert!(world.told_to("b").iter().any(|told| matches!(told, Tell::Abandon(_))));
    world.run_for(20_000);
    assert_eq!(world.count("a"), 4);
}

#[test]
fn an_executor_that_says_hello_again_is_told_what_it_is_to_make_ready() {
    let mut world = a_has_it_and_b_prepares(&[]);
    world.drain_host("a");
    world.break_stream("b");
    world.reconnect("b");
    let Tell::Welcome { preparations, .. } = world.told_to("b")[0] else { panic!("no welcome") };
    assert_eq!(*preparations, [Preparation { shard: "0".into(), generation: 1 }]);
    world.say("b", prepared(1, None));
    assert_eq!(world.runs("b"), ["0"]);
}

#[test]
fn the_owner_before_leaves_its_state_and_knows_the_next() {
    let mut world = a_has_it_and_b_prepares(&[("prepare_timeout", "0s")]);
    world.slow("a");
    world.executors.get_mut("b").unwrap().metadata =
        [("grpc_address".to_owned(), "10.0.0.2:80".to_owned())].into();
    world.reconnect("b");
    world.drain_host("a");
    let next = NextOwner { executor: "b".into(), address: "10.0.0.2:80".into() };
    let told = world
        .told_to("a")
        .into_iter()
        .any(|told| matches!(told, Tell::Revoked { next: Some(to), .. } if *to == next));
    assert!(told, "{:?}", world.told_to("a"));
    let state: State = vec![7; 3].into();
    world.say("a", stopped(1, state.clone()));
    let grant = Grant { state: Some(state), previous: Some("a".into()), ..Grant::new("0", 2) };
    assert!(world.told_to("b").contains(&&Tell::Granted(grant)), "{:?}", world.told_to("b"));
}

#[test]
fn a_state_is_told_until_its_grant_has_been_heard_and_never_after() {
    let mut world = a_has_it_and_b_prepares(&[("prepare_timeout", "0s")]);
    world.slow("a");
    world.executors.get_mut("b").unwrap().starts = false;
    world.drain_host("a");
    world.stores_at_once = false;
    world.say("a", stopped(1, vec![7].into()));
    world.break_stream("b");
    world.commit();
    world.hello("b", Vec::new());
    assert_eq!(state_welcomed(&world), Some(vec![7].into()));
    world.break_stream("b");
    world.hello("b", vec![Holding { shard: "0".into(), generation: 2, stopping: false }]);
    assert_eq!(state_welcomed(&world), None, "who names the grant has it");
}

#[test]
fn a_state_on_its_way_is_handed_over_to_the_next_leader() {
    for stored in [true, false] {
        let mut world = a_has_it_and_b_prepares(&[("prepare_timeout", "0s")]);
        world.slow("a");
        world.drain_host("a");
        world.stores_at_once = false;
        world.say("a", stopped(1, vec![7].into()));
        assert_eq!(world.phase("0"), "granting");
        if stored {
            world.reaches_the_store();
        }
        world.hand_over();
        world.stores_at_once = true;
        world.hello("b", Vec::new());
        world.run_for(100);
        let told = world.told_to("b");
        let granted = told.iter().flat_map(|told| match told {
            Tell::Welcome { grants, .. } => grants.clone(),
            Tell::Granted(grant) => vec![grant.clone()],
            _ => Vec::new(),
        });
        let granted: Vec<_> = granted.collect();
        assert_eq!(granted.len(), 1, "{told:?}");
        assert_eq!(granted[0].state, Some(vec![7].into()));
        assert_eq!(granted[0].previous, Some("a".into()));
    }
}

#[test]
fn what_is_too_much_for_a_hand_over_is_reported_by_the_next_leader() {
    let mut world = World::with(Kind::Fixed { shards: 18 }, &[], Origin::New);
    world.join("a");
    world.run_for(400);
    world.slow("a");
    world.drain_host("a");
    world.join("b");
    world.stores_at_once = false;
    let state: State = vec![7; MAX_STATE_BYTES].into();
    for shard in world.executors["a"].runs.clone() {
        let (shard, generation) = shard;
        let state = Some(state.clone());
        world.say("a", SessionEvent::Stopped { shard, generation, error: None, state });
    }
    assert_eq!(world.happened(What::StateLost), 0);
    world.hand_over();
    assert_eq!(world.happened(What::StateLost), 2, "16 MiB are handed over");
    world.stores_at_once = true;
    world.hello("b", Vec::new());
    world.run_for(100);
    let told = world.told_to("b");
    let with_state = told.iter().filter(|told| {
        matches!(told, Tell::Granted(Grant { state: Some(state), .. }) if state.len() == MAX_STATE_BYTES)
    });
    let Tell::Welcome { grants, .. } = told[0] else { panic!("no welcome") };
    let welcomed = grants.iter().filter(|grant| grant.state.is_some()).count();
    assert_eq!(with_state.count() + welcomed, 16);
}

#[test]
fn a_state_goes_to_the_next_grant_and_to_no_later_one() {
    let mut world = a_has_it_and_b_prepares(&[("prepare_timeout", "0s")]);
    world.slow("a");
    world.executors.get_mut("b").unwrap().fails = true;
    world.drain_host("a");
    world.say("a", stopped(1, vec![7].into()));
    world.join("c");
    world.run_for(5_000);
    let grants: Vec<_> = world
        .told
        .iter()
        .filter_map(|(_, told)| match told {
            Tell::Granted(grant) if grant.generation > 1 => Some(grant.state.is_some()),
            _ => None,
        })
        .collect();
    assert!(grants.len() > 1 && grants[0] && grants[1..].iter().all(|it| !it), "{grants:?}");
}

#[test]
fn forced_moves_prefer_the_version_that_came_last_up_to_its_fair_share() {
    let mut world = World::fixed(15);
    for name in ["a", "b", "c"] {
        join_with_version(&mut world, name, "1");
    }
    world.run_for(400);
    world.order(Order::Freeze(true));
    join_with_version(&mut world, "d", "2");
    world.drain_host("a");
    assert_eq!((world.count("b"), world.count("c"), world.count("d")), (5, 5, 5));
    world.drain_host("b");
    assert_eq!((world.count("c"), world.count("d")), (7, 8), "half of 15, and no more");
}

fn join_with_version(world: &mut World, name: &'static str, version: &str) {
    let label = ("plimsoll.version".to_owned(), version.to_owned());
    world.join_as(name, name, |executor| executor.metadata = [label].into());
}

fn prepared(generation: u64, error: Option<&str>) -> SessionEvent {
    SessionEvent::Prepared { shard: "0".into(), generation, error: error.map(str::to_owned) }
}

fn stopped(generation: u64, state: State) -> SessionEvent {
    SessionEvent::Stopped { shard: "0".into(), generation, error: None, state: Some(state) }
}

/// Of the first grant in b's last welcome.
fn state_welcomed(world: &World) -> Option<State> {
    match world.told_to("b")[0] {
        Tell::Welcome { grants, .. } => grants[0].state.clone(),
        other => panic!("{other:?}"),
    }
}

fn prepares(world: &mut World, name: &'static str) {
    world.join_as(name, name, |executor| executor.prepares = true);
}

/// One shard at a; b has nothing and answers what it is told to prepare.
fn a_has_it_and_b_prepares(settings: &[(&str, &str)]) -> World {
    let mut world = World::with(Kind::Fixed { shards: 1 }, settings, Origin::New);
    world.join("a");
    world.run_for(400);
    prepares(&mut world, "b");
    assert_eq!(world.runs("a"), ["0"]);
    world
}
