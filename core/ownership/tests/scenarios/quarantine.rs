//! Shards that kill their owners.

use plimsoll_ownership::event::What;
use plimsoll_ownership::namespace::{CRASH_LOOP, Origin};
use plimsoll_ownership::record::Kind;

use crate::world::World;

const HOSTS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[test]
fn a_shard_whose_owners_die_on_three_hosts_is_quarantined() {
    let mut world = eight_with_five_each(&[]);
    for death in 1..=3 {
        kill_owner_of_0(&mut world);
        assert_eq!(world.happened(What::Quarantined), usize::from(death == 3));
    }
    let record = &world.namespace.drained_shards()["0"];
    assert_eq!((record.reason.as_str(), record.drained_by.as_str()), (CRASH_LOOP, "plimsoll"));
    assert_eq!(world.namespace.drained_shards().len(), 1, "not for company");
    assert_eq!((world.phase("0"), world.located("0").as_str()), ("unowned", "Some(Drained)"));
    assert!(world.store.drained_shards.contains_key("0"));
}

#[test]
fn nobody_gets_a_quarantined_shard_while_its_drain_is_being_stored() {
    let mut world = eight_with_five_each(&[]);
    kill_owner_of_0(&mut world);
    kill_owner_of_0(&mut world);
    world.stores_at_once = false;
    kill_owner_of_0(&mut world);
    assert_eq!(world.happened(What::Quarantined), 1);
    assert!(world.namespace.drained_shards().is_empty());
    assert_ne!(world.phase("0"), "granting");
    assert_eq!(world.located("0"), "Some(Drained)");
    world.commit();
    world.commit();
    assert_eq!(world.namespace.drained_shards().len(), 1);
}

#[test]
fn a_quarantined_shard_runs_again_once_it_is_undrained() {
    let mut world = eight_with_five_each(&[]);
    for _ in 0..3 {
        kill_owner_of_0(&mut world);
    }
    world.undrain_shards(&["0"]);
    assert_eq!(world.phase("0"), "owned");
    kill_owner_of_0(&mut world);
    assert_eq!(world.happened(What::Quarantined), 1, "its past is forgiven");
}

#[test]
fn a_mass_failure_raises_no_suspicion() {
    let mut world = World::fixed(1);
    for _ in 0..4 {
        for name in ["a", "b"] {
            world.join(name);
        }
        world.run_for(400);
        world.crash("a");
        world.crash("b");
        world.run_for(10_000);
    }
    assert!(world.happened(What::MassFailure) >= 4);
    assert_eq!(world.happened(What::Quarantined), 0);
}

#[test]
fn deaths_on_one_host_blame_the_host() {
    let mut world = World::fixed(1);
    world.join_on("a", "one");
    world.run_for(400);
    for name in ["b", "c", "d", "e"] {
        let owner = world.owner("0").unwrap();
        world.join_on(name, "one");
        let owner = HOSTS.into_iter().find(|host| *host == owner).unwrap();
        world.crash(owner);
        world.run_for(3_000);
    }
    assert_eq!((world.happened(What::Expired), world.happened(What::Quarantined)), (4, 0));
}

#[test]
fn an_owner_that_dies_later_than_a_minute_does_not_count() {
    let mut world = eight_with_five_each(&[]);
    kill_owner_of_0(&mut world);
    kill_owner_of_0(&mut world);
    world.run_for(61_000);
    kill_owner_of_0(&mut world);
    kill_owner_of_0(&mut world);
    assert_eq!(world.happened(What::Quarantined), 0);
}

#[test]
fn an_owner_that_lived_long_acquits_the_shard_when_it_gives_it_away() {
    let mut world = eight_with_five_each(&[]);
    kill_owner_of_0(&mut world);
    kill_owner_of_0(&mut world);
    world.run_for(61_000);
    let owner = world.owner("0").unwrap();
    world.drain_host(&owner);
    assert_ne!(world.owner("0").unwrap(), owner);
    kill_owner_of_0(&mut world);
    assert_eq!(world.happened(What::Quarantined), 0);
}

#[test]
fn an_owner_that_was_never_told_did_not_die_of_the_shard() {
    let mut world = World::fixed(1);
    for name in ["go-1", "go-2", "go-3", "go-4"] {
        world.heartbeat(name, &[]);
        world.run_for(12_000);
        assert!(!world.knows(name));
    }
    assert_eq!(world.happened(What::Granted), 4);
    assert_eq!(world.happened(What::Quarantined), 0);
}

#[test]
fn quarantine_can_be_switched_off() {
    let mut world = eight_with_five_each(&[("crash_loop.enabled", "false")]);
    for _ in 0..5 {
        kill_owner_of_0(&mut world);
    }
    assert_eq!((world.happened(What::Quarantined), world.phase("0")), (0, "owned"));
}

#[test]
fn the_number_of_deaths_is_a_setting() {
    let mut world = eight_with_five_each(&[("crash_loop.deaths", "2")]);
    kill_owner_of_0(&mut world);
    kill_owner_of_0(&mut world);
    assert_eq!(world.happened(What::Quarantined), 1);
}

fn eight_with_five_each(settings: &[(&str, &str)]) -> World {
    let mut world = World::with(Kind::Fixed { shards: 40 }, settings, Origin::New);
    for host in HOSTS {
        world.join(host);
    }
    world.run_for(400);
    world
}

fn kill_owner_of_0(world: &mut World) {
    let owner = world.owner("0").unwrap();
    let owner = HOSTS.into_iter().find(|host| *host == owner).unwrap();
    world.crash(owner);
    world.run_for(2_100);
    assert!(!world.knows(owner));
}
