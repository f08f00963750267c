//! The planner on real and generated loads, against the figures that the
//! snapshots' README gives for the bound and for the seed's algorithm.
//!
//! How those were run was found by trying: a cycle a second, a cooldown of 60 s,
//! until nothing moves; no floor under the load of a shard that may move (which
//! only mostly-idle notices: 778 moves, or 388 with the floor of 0.01); "moved
//! load" is that of all shards that are elsewhere in the end, each once.

use std::path::{Path, PathBuf};

use plimsoll_placement::measures::Balance;
use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::snapshot::generate::{Size, generate, names};
use plimsoll_placement::view::View;

use super::rest::{Rest, run_to_rest};

/// Moves every load far above the floor and, since it is a power of two, changes
/// nothing else, not even rounding.
const ABOVE_THE_FLOOR: f64 = (1u64 << 40) as f64;

#[test]
fn bounds_are_those_of_the_readme() {
    for (name, snapshot, row) in shared_snapshots() {
        let (start, bound) = (snapshot.balance(), snapshot.bound());
        let ours = [
            format!("{:.3}", start.max_over_mean()),
            format!("{:.2}", start.spread * 100.0),
            format!("{:.3}", bound.max_over_mean),
            format!("{:.2}", bound.spread * 100.0),
        ];
        assert_eq!(ours, row[3..7], "{name}");
    }
}

#[test]
fn greedy_comes_to_rest_where_the_readme_says() {
    for (name, mut snapshot, row) in shared_snapshots() {
        for shard in &mut snapshot.shards {
            shard.load *= ABOVE_THE_FLOOR;
        }
        let ours = figures(&snapshot.view(), &rest(&snapshot));
        println!("{name}: {ours:?}");
        assert_eq!(ours, row[7..11], "{name}");
    }
}

#[test]
fn with_the_floor_half_the_moves_of_mostly_idle_are_spared() {
    for (_, snapshot, _) in
        shared_snapshots().into_iter().filter(|(name, ..)| name == "mostly-idle")
    {
        let ours = figures(&snapshot.view(), &rest(&snapshot));
        assert_eq!(ours, ["2.294", "33.72", "388", "22.7"]);
    }
}

#[test]
fn greedy_evens_out_every_generated_snapshot() {
    for name in names() {
        let snapshot = generate(name, 1, Size::default()).unwrap();
        let (start, rest) = (snapshot.balance(), rest(&snapshot));
        let after = rest.last.report.after;
        println!("{name}: {} -> {:?}", figures_of(&start), figures(&snapshot.view(), &rest));
        assert!(rest.moves > 0 && after.max_over_mean() <= start.max_over_mean(), "{name}");
        assert!(after.spread < start.spread, "{name}: {after:?}");
        assert!(after.spread >= snapshot.bound().spread, "{name}: below the bound");
    }
}

pub(crate) fn greedy() -> Policy {
    Policy { mode: Mode::Greedy, ..Policy::default() }
}

fn rest(snapshot: &Snapshot) -> Rest {
    run_to_rest(snapshot.view(), &greedy())
}

/// The README's greedy columns: max/mean, spread, moves, moved load.
fn figures(start: &View, rest: &Rest) -> [String; 4] {
    let after = rest.last.report.after;
    [
        format!("{:.3}", after.max_over_mean()),
        format!("{:.2}", after.spread * 100.0),
        rest.moves.to_string(),
        format!("{:.1}", moved_load(start, &rest.view) * 100.0),
    ]
}

fn figures_of(balance: &Balance) -> String {
    format!("{:.3} {:.2}", balance.max_over_mean(), balance.spread * 100.0)
}

fn moved_load(start: &View, end: &View) -> f64 {
    let load = |view: &View, at: usize| view.shards[at].load.map_or(0.0, |load| load.smoothed);
    let moved = |&at: &usize| start.shards[at].owner != end.shards[at].owner;
    let all = 0..start.shards.len();
    let part: f64 = all.clone().filter(moved).map(|at| load(start, at)).sum();
    part / all.map(|at| load(start, at)).sum::<f64>()
}

/// The snapshots of the README with their rows; none where it is not at hand.
pub(crate) fn shared_snapshots() -> Vec<(String, Snapshot, Vec<String>)> {
    let Some(folder) = shared_folder() else {
        println!("skipped: no shared/data/snapshots beside the checkout or at /work");
        return Vec::new();
    };
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let rows = readme.lines().map(cells).filter(|cells| cells.len() > 11 && is_number(&cells[1]));
    rows.map(|row| (row[0].clone(), read(&folder, &row[0]), row)).collect()
}

fn shared_folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    [beside, "/work/shared"]
        .into_iter()
        .map(|folder| Path::new(folder).join("data/snapshots"))
        .find(|folder| folder.join("README.md").is_file())
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().into()).collect()
}

fn is_number(cell: &str) -> bool {
    cell.parse::<usize>().is_ok()
}

fn read(folder: &Path, name: &str) -> Snapshot {
    let text = std::fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
    Snapshot::parse(&text).unwrap_or_else(|error| panic!("{name}.csv: {error}"))
}
