//! What holds of a table whatever changes come: it equals a plain map that the
//! same changes were applied to, however the stream was cut.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_placement::time::Time;
use plimsoll_routing::{Delta, Lookup, Rejected, RouteChange, RoutedExecutor, SnapshotPart, Table};
use proptest::collection::vec;
use proptest::prelude::*;

const NOW: Time = Time::ZERO;

/// What a table should say, kept the plain way.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reference {
    routes: BTreeMap<Arc<str>, (Arc<str>, u64)>,
    drained: BTreeSet<Arc<str>>,
}

#[derive(Clone, Debug)]
enum Change {
    Move(u8, u8),
    Unown(u8),
    Drain(u8),
    Undrain(u8),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0..20u8, 0..5u8).prop_map(|(shard, executor)| Change::Move(shard, executor)),
        1 => (0..20u8).prop_map(Change::Unown),
        1 => (0..20u8).prop_map(Change::Drain),
        1 => (0..20u8).prop_map(Change::Undrain),
    ]
}

proptest! {
    #[test]
    fn a_table_equals_the_reference(
        start in vec(change(), 0..40),
        deltas in vec(vec(change(), 0..6), 0..20),
        size in 1..7usize,
    ) {
        let mut reference = Reference::default();
        reference.apply_all(&start, 1);
        let mut table = Table::new();
        for part in reference.parts(1, size) {
            table.apply_part(NOW, part).unwrap();
        }
        prop_assert_eq!(&read(&table), &reference);
        for (revision, changes) in (1..).zip(&deltas) {
            reference.apply_all(changes, revision + 1);
            table.apply_delta(NOW, &delta(revision, changes)).unwrap();
            prop_assert_eq!(&read(&table), &reference);
        }
    }

    #[test]
    fn a_resumed_stream_equals_a_full_one(
        start in vec(change(), 0..40),
        deltas in vec(vec(change(), 0..6), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let full = follow(&start, &deltas);
        let (before, after) = deltas.split_at(cut.index(deltas.len()));
        let mut resumed = follow(&start, before);
        for (revision, changes) in (resumed.revision()..).zip(after) {
            resumed.apply_delta(NOW, &delta(revision, changes)).unwrap();
        }
        prop_assert_eq!(read(&resumed), read(&full));
        prop_assert_eq!(resumed.revision(), full.revision());
    }

    #[test]
    fn parts_of_a_table_make_the_same_table(
        start in vec(change(), 0..40),
        deltas in vec(vec(change(), 0..6), 0..20),
        size in 1..7usize,
    ) {
        let table = follow(&start, &deltas);
        let mut copy = Table::new();
        for part in table.parts(size) {
            copy.apply_part(NOW, part).unwrap();
        }
        prop_assert_eq!(read(&copy), read(&table));
        prop_assert_eq!(copy.revision(), table.revision());
    }

    #[test]
    fn a_gap_leaves_the_table_as_it_was(
        start in vec(change(), 0..40),
        changes in vec(change(), 1..6),
        skip in 1..100u64,
    ) {
        let mut table = follow(&start, &[]);
        let before = read(&table);
        let refused = table.apply_delta(NOW, &delta(1 + skip, &changes));
        prop_assert_eq!(refused, Err(Rejected::Gap { have: 1, from: 1 + skip }));
        prop_assert_eq!(read(&table), before);
    }

    #[test]
    fn an_unknown_owner_anywhere_leaves_the_table_as_it_was(
        start in vec(change(), 0..40),
        changes in vec(change(), 0..6),
        position in any::<prop::sample::Index>(),
    ) {
        let mut table = follow(&start, &[]);
        let before = read(&table);
        let mut bad = delta(1, &changes);
        let stray = RouteChange { shard: "3".into(), executor: "stranger".into(), generation: 9 };
        bad.routes.insert(position.index(bad.routes.len() + 1), stray);
        prop_assert!(table.apply_delta(NOW, &bad).is_err());
        prop_assert_eq!(read(&table), before);
        prop_assert_eq!(table.revision(), 1);
    }
}

fn follow(start: &[Change], deltas: &[Vec<Change>]) -> Table {
    let mut reference = Reference::default();
    reference.apply_all(start, 1);
    let mut table = Table::new();
    for part in reference.parts(1, 5) {
        table.apply_part(NOW, part).unwrap();
    }
    for (revision, changes) in (1..).zip(deltas) {
        table.apply_delta(NOW, &delta(revision, changes)).unwrap();
    }
    table
}

/// The changes as one delta: the last word on each shard counts, as a server
/// that joins several changes would have it.
fn delta(from: u64, changes: &[Change]) -> Delta {
    let mut owners = BTreeMap::new();
    let mut drains = BTreeMap::new();
    for change in changes {
        match change {
            Change::Move(shard, owner) => drop(owners.insert(*shard, Some(*owner))),
            Change::Unown(shard) => drop(owners.insert(*shard, None)),
            Change::Drain(shard) => drop(drains.insert(*shard, true)),
            Change::Undrain(shard) => drop(drains.insert(*shard, false)),
        }
    }
    let mut delta = Delta { from, to: from + 1, ..Delta::default() };
    for (shard, owner) in owners {
        match owner {
            Some(owner) => {
                delta.executors.push(executor(owner));
                delta.routes.push(RouteChange {
                    shard: key(shard),
                    executor: executor(owner).id.clone(),
                    generation: from + 1,
                });
            }
            None => delta.unowned.push(key(shard)),
        }
    }
    for (shard, drained) in drains {
        let side = if drained { &mut delta.drained } else { &mut delta.undrained };
        side.push(key(shard));
    }
    delta
}

fn read(table: &Table) -> Reference {
    let routes: BTreeMap<_, _> = table
        .routes()
        .into_iter()
        .map(|(shard, route)| (shard.clone(), (route.executor.id.clone(), route.generation)))
        .collect();
    let drained: BTreeSet<Arc<str>> = table.drained().cloned().collect();
    for (shard, (owner, generation)) in &routes {
        match table.lookup(shard) {
            Lookup::Owner(route) => {
                assert_eq!((&route.executor.id, route.generation), (owner, *generation));
            }
            Lookup::Drained => assert!(drained.contains(shard)),
            Lookup::Unknown => panic!("{shard} is listed but not found"),
        }
    }
    Reference { routes, drained }
}

fn key(shard: u8) -> Arc<str> {
    shard.to_string().into()
}

fn executor(number: u8) -> Arc<RoutedExecutor> {
    Arc::new(RoutedExecutor { id: format!("x{number}").into(), metadata: BTreeMap::new() })
}

impl Reference {
    fn apply_all(&mut self, changes: &[Change], generation: u64) {
        for change in changes {
            self.apply(change, generation);
        }
    }

    fn apply(&mut self, change: &Change, generation: u64) {
        match change {
            Change::Move(shard, owner) => {
                self.routes.insert(key(*shard), (executor(*owner).id.clone(), generation));
            }
            Change::Unown(shard) => drop(self.routes.remove(&key(*shard))),
            Change::Drain(shard) => drop(self.drained.insert(key(*shard))),
            Change::Undrain(shard) => drop(self.drained.remove(&key(*shard))),
        }
    }

    fn parts(&self, revision: u64, size: usize) -> Vec<SnapshotPart> {
        let routes: Vec<RouteChange> = self
            .routes
            .iter()
            .map(|(shard, (executor, generation))| RouteChange {
                shard: shard.clone(),
                executor: executor.clone(),
                generation: *generation,
            })
            .collect();
        let count = routes.len().div_ceil(size).max(1);
        (0..count)
            .map(|index| SnapshotPart {
                epoch: "epoch".into(),
                revision,
                first: index == 0,
                last: index == count - 1,
                executors: (0..5).map(executor).filter(|_| index == 0).collect(),
                routes: routes.chunks(size).nth(index).unwrap_or_default().to_vec(),
                drained: self.drained.iter().filter(|_| index == count - 1).cloned().collect(),
            })
            .collect()
    }
}
