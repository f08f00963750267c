//! What adaptive has moved by the time it is as good as greedy will ever be.
//!
//! Adaptive goes on where greedy stops, so their totals do not compare. This
//! carries its moves out one at a time and stops at the first at which the spread
//! is no larger than where greedy came to rest.

use plimsoll_placement::time::Time;

use crate::measure::{Line, share};
use crate::mode::{Mode, Planner};
use crate::rest::PERIOD;
use crate::source::Named;
use crate::world::{Moved, apply, balance, shard_loads};

/// Cycles after which it has not got there and will not.
const MOST_CYCLES: u32 = 2000;

/// A line a snapshot, for the snapshots that have a line of greedy's.
pub(super) fn compare(all: &[Named], lines: &[Line]) -> Vec<String> {
    let mut notes = vec!["Moved load, in % of all, to where greedy stops:".into()];
    notes.extend(all.iter().filter_map(|named| {
        let of_greedy = |line: &&Line| line.mode == "greedy" && line.snapshot == named.name;
        let greedy = lines.iter().find(of_greedy)?;
        let reached = moved_to(named, greedy.spread_points);
        let ours = reached.map_or_else(|| "never".into(), |part| format!("{:.1}", part * 100.0));
        let theirs = greedy.moved_load_share * 100.0;
        Some(format!("  {:<24} adaptive {ours:>5}, greedy {theirs:>5.1}", named.name))
    }));
    notes
}

/// The load that adaptive moves, as a part of all, until the spread is at most
/// this; `None` if it never is.
fn moved_to(named: &Named, spread_points: f64) -> Option<f64> {
    let planner = Planner::new(Mode::ADAPTIVE);
    let (mut view, mut now, mut moved) = (named.snapshot.view(), Time::ZERO, Moved::default());
    let total: f64 = shard_loads(&view).iter().sum();
    for _ in 0..MOST_CYCLES {
        now += PERIOD;
        for step in planner.cycle(now, &view) {
            moved = moved.and(apply(&mut view, &[step], now));
            if balance(&view).spread * 100.0 <= spread_points {
                return Some(share(moved.load, total));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::snapshots::at_rest;
    use crate::source::Source;

    #[test]
    fn less_is_moved_for_less() {
        let source =
            Source { generate: Some(5), only: vec!["lognormal-1".into()], ..Source::default() };
        let named = &source.load().unwrap()[0];
        let start = named.snapshot.balance().spread * 100.0;
        let greedy = at_rest(named, Mode::GREEDY).spread_points;
        let (half, all) = (moved_to(named, (start + greedy) / 2.0), moved_to(named, greedy));
        assert!(half.unwrap() < all.unwrap());
        assert_eq!(moved_to(named, -1.0), None);
    }
}
