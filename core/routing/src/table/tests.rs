use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use super::*;

const NOW: Time = Time::from_millis(1_000);

#[test]
fn a_new_table_knows_nothing() {
    let table = Table::new();
    assert_eq!(table.lookup("7"), Lookup::Unknown);
    assert!(!table.is_loaded());
    assert_eq!(table.age(NOW), None);
}

#[test]
fn the_map_is_replaced_when_the_last_part_comes() {
    let mut table = loaded(&[("1", "a", 1)]);
    let mut part = part(2, &[("1", "b", 5)]);
    part.last = false;
    assert_eq!(table.apply_part(NOW, part), Ok(Applied::Collecting));
    assert_eq!(owner(&table, "1"), Some(("a", 1)));

    let rest = SnapshotPart { first: false, ..super::tests::part(2, &[("2", "b", 6)]) };
    assert_eq!(table.apply_part(NOW, rest), Ok(Applied::Replaced));
    assert_eq!(owner(&table, "1"), Some(("b", 5)));
    assert_eq!(owner(&table, "2"), Some(("b", 6)));
    assert_eq!(table.revision(), 2);
    assert_eq!(ids(&table), ["b"]);
}

#[test]
fn a_part_without_the_parts_before_it_is_refused() {
    let mut table = loaded(&[("1", "a", 1)]);
    let stray = SnapshotPart { first: false, ..part(9, &[("1", "b", 2)]) };
    let refused = table.apply_part(NOW, stray);
    assert_eq!(refused, Err(Rejected::PartOutOfOrder { epoch: "e".into(), revision: 9 }));
    assert_eq!(owner(&table, "1"), Some(("a", 1)));
}

#[test]
fn a_gap_changes_nothing() {
    let mut table = loaded(&[("1", "a", 1)]);
    let late = Delta { from: 5, to: 6, unowned: vec!["1".into()], ..Delta::default() };
    assert_eq!(table.apply_delta(NOW, &late), Err(Rejected::Gap { have: 1, from: 5 }));
    assert_eq!(owner(&table, "1"), Some(("a", 1)));
    assert_eq!(table.revision(), 1);
}

#[test]
fn a_route_to_a_stranger_changes_nothing() {
    let mut table = loaded(&[("1", "a", 1)]);
    let mut delta = moved("1", "stranger", 2);
    delta.executors.clear();
    delta.drained.push("1".into());
    assert!(matches!(table.apply_delta(NOW, &delta), Err(Rejected::UnknownExecutor { .. })));
    assert_eq!(owner(&table, "1"), Some(("a", 1)));
}

#[test]
fn a_delta_before_the_first_snapshot_is_refused() {
    let refused = Table::new().apply_delta(NOW, &Delta::default());
    assert_eq!(refused, Err(Rejected::NoSnapshot));
}

#[test]
fn a_delta_back_in_time_is_refused() {
    let mut table = loaded(&[]);
    let back = Delta { from: 1, to: 0, ..Delta::default() };
    assert_eq!(table.apply_delta(NOW, &back), Err(Rejected::Backwards { from: 1, to: 0 }));
}

#[test]
fn drained_wins_over_an_owner_and_ends_with_the_drain() {
    let mut table = loaded(&[("1", "a", 1)]);
    let drain = Delta { from: 1, to: 2, drained: vec!["1".into()], ..Delta::default() };
    table.apply_delta(NOW, &drain).unwrap();
    assert_eq!(table.lookup("1"), Lookup::Drained);
    let undrain = Delta { from: 2, to: 3, undrained: vec!["1".into()], ..Delta::default() };
    table.apply_delta(NOW, &undrain).unwrap();
    assert_eq!(owner(&table, "1"), Some(("a", 1)));
}

#[test]
fn changed_metadata_shows_on_every_route() {
    let mut table = loaded(&[("1", "a", 1), ("2", "a", 1)]);
    let metadata = BTreeMap::from([("zone".to_owned(), "b".to_owned())]);
    let changed = Arc::new(RoutedExecutor { id: "a".into(), metadata });
    let delta = Delta { from: 1, to: 2, executors: vec![changed], ..Delta::default() };
    table.apply_delta(NOW, &delta).unwrap();
    assert_eq!(table.executor("a").map(|it| &*it.metadata["zone"]), Some("b"));
    assert_eq!(table.executor("stranger"), None);
    for key in ["1", "2"] {
        let Lookup::Owner(route) = table.lookup(key) else { panic!("{key} has an owner") };
        assert_eq!(route.executor.metadata["zone"], "b");
    }
}

#[test]
fn a_gone_executor_leaves_with_its_last_route() {
    let mut table = loaded(&[("1", "a", 1), ("2", "b", 1)]);
    let gone = Delta { from: 1, to: 2, gone_executors: vec!["a".into()], ..Delta::default() };
    table.apply_delta(NOW, &gone).unwrap();
    assert_eq!(owner(&table, "1"), Some(("a", 1)));

    let last = Delta { from: 2, to: 3, unowned: vec!["1".into()], ..Delta::default() };
    table.apply_delta(NOW, &last).unwrap();
    assert_eq!(table.lookup("1"), Lookup::Unknown);
    assert_eq!(ids(&table), ["b"]);
}

#[test]
fn a_leaving_executor_takes_no_new_route() {
    let mut table = loaded(&[("1", "a", 1), ("2", "b", 1)]);
    let gone = Delta { from: 1, to: 2, gone_executors: vec!["a".into()], ..Delta::default() };
    table.apply_delta(NOW, &gone).unwrap();
    let mut delta = moved("1", "b", 2);
    delta.from = 2;
    delta.to = 3;
    delta.executors.clear();
    delta.routes.push(change("2", "a", 2));
    assert!(matches!(table.apply_delta(NOW, &delta), Err(Rejected::UnknownExecutor { .. })));
    assert_eq!(owner(&table, "1"), Some(("a", 1)));
}

#[test]
fn age_counts_from_what_the_server_last_confirmed() {
    let mut table = loaded(&[]);
    let later = NOW + Duration::from_secs(9);
    assert_eq!(table.age(later), Some(Duration::from_secs(9)));
    table.keep_alive(later, 1).unwrap();
    assert_eq!(table.age(later), Some(Duration::ZERO));
    assert_eq!(table.keep_alive(later, 4), Err(Rejected::Gap { have: 1, from: 4 }));
}

#[test]
fn parts_carry_the_whole_table() {
    let mut table = loaded(&[("1", "a", 1), ("2", "b", 2), ("3", "a", 3)]);
    let drain = Delta { from: 1, to: 2, drained: vec!["9".into()], ..Delta::default() };
    table.apply_delta(NOW, &drain).unwrap();
    let parts = table.parts(2);
    assert_eq!(parts.iter().map(|part| part.routes.len()).collect::<Vec<_>>(), [2, 1]);
    let mut copy = Table::new();
    for part in parts {
        copy.apply_part(NOW, part).unwrap();
    }
    assert_eq!(copy.routes(), table.routes());
    assert_eq!(copy.lookup("9"), Lookup::Drained);
}

#[test]
fn an_empty_table_is_still_one_part() {
    let parts = Table::new().parts(10);
    assert!(matches!(parts.as_slice(), [part] if part.first && part.last));
}

fn loaded(routes: &[(&str, &str, u64)]) -> Table {
    let mut table = Table::new();
    assert_eq!(table.apply_part(NOW, part(1, routes)), Ok(Applied::Replaced));
    table
}

fn part(revision: u64, routes: &[(&str, &str, u64)]) -> SnapshotPart {
    SnapshotPart {
        epoch: "e".into(),
        revision,
        first: true,
        last: true,
        executors: routes.iter().map(|(_, executor, _)| plain(executor)).collect(),
        routes: routes
            .iter()
            .map(|(shard, id, generation)| change(shard, id, *generation))
            .collect(),
        drained: Vec::new(),
    }
}

fn moved(shard: &str, executor: &str, generation: u64) -> Delta {
    Delta {
        from: 1,
        to: 2,
        executors: vec![plain(executor)],
        routes: vec![change(shard, executor, generation)],
        ..Delta::default()
    }
}

fn change(shard: &str, executor: &str, generation: u64) -> RouteChange {
    RouteChange { shard: shard.into(), executor: executor.into(), generation }
}

fn plain(id: &str) -> Arc<RoutedExecutor> {
    Arc::new(RoutedExecutor { id: id.into(), metadata: BTreeMap::new() })
}

fn owner<'a>(table: &'a Table, key: &str) -> Option<(&'a str, u64)> {
    match table.lookup(key) {
        Lookup::Owner(route) => Some((&*route.executor.id, route.generation)),
        _ => None,
    }
}

fn ids(table: &Table) -> Vec<&str> {
    table.executors().map(|executor| &*executor.id).collect()
}
