//! What a planner made of a snapshot, in figures.

use std::time::Duration;

use plimsoll_placement::measures::{Balance, Bound, Sum};
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::view::View;
use serde::Serialize;

use crate::world::{Moved, balance, host_loads, shard_loads};

/// One line of results: a snapshot and a mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub snapshot: String,
    pub mode: String,
    /// Hottest host over the mean.
    pub max_over_mean: f64,
    /// Population standard deviation of host load over its mean, in hundredths.
    pub spread_points: f64,
    /// What no placement can go below, in the same unit.
    pub bound_points: f64,
    /// `spread_points` less `bound_points`.
    pub gap_points: f64,
    /// A shard that moved twice counts twice, here and below.
    pub moves: usize,
    /// Load of all moves over all load, 0 up.
    pub moved_load_share: f64,
    /// The same over the least that any plan must move for the same host loads;
    /// 1 if nothing moved.
    pub moved_load_over_least: f64,
    /// What the planner took, over all cycles that moved something.
    pub planner_ms: f64,
}

/// What was reached and what it took.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub moved: Moved,
    pub planning: Duration,
}

impl Line {
    /// The figures for a snapshot that a mode turned into `end`.
    pub fn new(name: &str, mode: &str, snapshot: &Snapshot, end: &View, effort: Effort) -> Self {
        let (start, after) = (snapshot.view(), balance(end));
        let bound = snapshot.bound();
        let total: f64 = shard_loads(end).into_iter().collect::<Sum>().value();
        Self {
            snapshot: name.into(),
            mode: mode.into(),
            max_over_mean: after.max_over_mean(),
            spread_points: after.spread * 100.0,
            bound_points: bound.spread * 100.0,
            gap_points: gap(&after, &bound),
            moves: effort.moved.moves,
            moved_load_share: share(effort.moved.load, total),
            moved_load_over_least: over_least(effort.moved.load, least_moved(&start, end)),
            planner_ms: effort.planning.as_secs_f64() * 1e3,
        }
    }
}

/// By how many points the spread is above the bound.
pub fn gap(after: &Balance, bound: &Bound) -> f64 {
    (after.spread - bound.spread) * 100.0
}

/// The load that any plan must move from one view to the host loads of another:
/// what hosts lose, taken together.
pub fn least_moved(start: &View, end: &View) -> f64 {
    let before = host_loads(start, shard_loads(end));
    let after = host_loads(end, shard_loads(end));
    let hosts = after.iter().enumerate();
    hosts.map(|(host, load)| (before.get(host).unwrap_or(&0.0) - load).max(0.0)).sum()
}

/// What was moved over the least; 1 if nothing moved.
pub fn over_least(moved: f64, least: f64) -> f64 {
    if moved > 0.0 { moved / least } else { 1.0 }
}

/// A part of a whole; 0 of nothing.
pub fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The value below which this part, 0 to 1, of the sorted values lies; 0 of none.
pub fn percentile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1) as f64 * part) as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// The mean; 0 of none.
pub fn mean(values: &[f64]) -> f64 {
    share(values.iter().copied().collect::<Sum>().value(), values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;
    use plimsoll_placement::view::ExecutorIndex;

    #[test]
    fn the_least_is_what_hosts_lose() {
        let start = view(&[&[3.0, 1.0], &[2.0], &[]]);
        let mut end = start.clone();
        end.shards[0].owner = Some(ExecutorIndex(2));
        assert_eq!(least_moved(&start, &end), 3.0);
        // 2 goes where 3 was: that host lost 1 only.
        end.shards[2].owner = Some(ExecutorIndex(0));
        assert_eq!(least_moved(&start, &end), 3.0);
        assert_eq!(over_least(5.0, 3.0), 5.0 / 3.0);
        assert_eq!(over_least(0.0, 0.0), 1.0);
    }

    #[test]
    fn a_host_that_came_later_had_nothing() {
        let start = view(&[&[3.0, 1.0]]);
        let mut end = view(&[&[3.0, 1.0], &[]]);
        end.shards[1].owner = Some(ExecutorIndex(1));
        assert_eq!(least_moved(&start, &end), 1.0);
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            [0.0, 0.5, 0.99, 1.0].map(|part| percentile(&sorted, part)),
            [1.0, 2.0, 3.0, 4.0]
        );
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_line_has_the_keys_of_the_issue_and_no_other() {
        let snapshot = Snapshot::parse("shard,load,host\na,3,x\nb,1,x\nc,1,y\nd,1,z\n").unwrap();
        let mut end = snapshot.view();
        end.shards[1].owner = Some(ExecutorIndex(1));
        let moved = Moved { moves: 1, load: 1.0, unforced_moves: 1, unforced: 1.0 };
        let effort = Effort { moved, planning: Duration::from_millis(3) };
        let line = Line::new("four", "by-hand", &snapshot, &end, effort);
        let json = serde_json::to_string(&line).unwrap();
        let keys: Vec<&str> = json
            .trim_matches(['{', '}'])
            .split(',')
            .filter_map(|it| it.split('"').nth(1))
            .collect();
        assert_eq!(
            keys,
            [
                "snapshot",
                "mode",
                "max_over_mean",
                "spread_points",
                "bound_points",
                "gap_points",
                "moves",
                "moved_load_share",
                "moved_load_over_least",
                "planner_ms"
            ]
        );
        assert_eq!((line.moves, line.moved_load_over_least, line.planner_ms), (1, 1.0, 3.0));
        assert_eq!(line.max_over_mean, 1.5);
        assert!((line.moved_load_share - 1.0 / 6.0).abs() < 1e-12);
        assert!((line.gap_points - (line.spread_points - line.bound_points)).abs() < 1e-12);
    }
}
