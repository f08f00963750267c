//! An hour of a namespace's balance, in memory and bounded.

use std::collections::VecDeque;

use super::Picture;

/// Points are at least so far apart.
const APART_MS: u64 = 5000;
/// An hour of them.
const KEPT: usize = 720;

/// How even a namespace was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    /// Milliseconds since 1970.
    pub(crate) at_ms: u64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    pub(crate) min: f64,
    /// Since the leader was started.
    pub(crate) moves: u64,
}

/// The last hour, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    points: VecDeque<Point>,
}

impl Point {
    pub(crate) fn of(picture: &Picture) -> Self {
        let balance = picture.loads.balance.unwrap_or_default();
        Self {
            at_ms: picture.taken_ms,
            max: balance.max,
            mean: balance.mean,
            min: balance.min,
            moves: picture.loads.moves,
        }
    }

    /// The largest host load over the mean; 1 if there is no load.
    pub(crate) fn max_over_mean(&self) -> f64 {
        if self.mean > 0.0 { self.max / self.mean } else { 1.0 }
    }
}

impl Series {
    /// Adds a point, if the last is not a moment old.
    pub(crate) fn add(&mut self, point: Point) {
        let last = self.points.back().map_or(0, |last| last.at_ms);
        if !self.points.is_empty() && point.at_ms < last.saturating_add(APART_MS) {
            return;
        }
        if self.points.len() == KEPT {
            self.points.pop_front();
        }
        self.points.push_back(point);
    }

    /// All of them, oldest first.
    #[cfg(test)]
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }

    /// At most so many, evenly taken; the last is always among them.
    pub(crate) fn thinned(&self, count: usize) -> Vec<Point> {
        let step = self.points.len().div_ceil(count.max(1)).max(1);
        let mut thinned: Vec<_> = self.points.iter().rev().step_by(step).copied().collect();
        thinned.reverse();
        thinned
    }

    /// Moves over the last minute before `now_ms`, from a counter that stands at
    /// `moves` now. `None`: nothing is known of a minute ago.
    pub(crate) fn moves_a_minute(&self, now_ms: u64, moves: u64) -> Option<f64> {
        let begin = now_ms.saturating_sub(60_000);
        let before = self.points.iter().rev().find(|point| point.at_ms <= begin);
        let since = before.or_else(|| self.points.front())?;
        let minutes = now_ms.saturating_sub(since.at_ms) as f64 / 60_000.0;
        // A counter that fell began anew with another leader.
        let made = moves.checked_sub(since.moves)?;
        (minutes >= 0.15).then(|| made as f64 / minutes.max(0.5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_ms: u64, moves: u64) -> Point {
        Point { at_ms, moves, ..Point::default() }
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut series = Series::default();
        for at in 0..2000 {
            series.add(point(at * 2500, 0));
        }
        assert_eq!(series.points().count(), KEPT);
        let apart: Vec<_> = series.points().map(|it| it.at_ms).collect();
        assert!(apart.windows(2).all(|pair| pair[1] - pair[0] == APART_MS));
    }

    #[test]
    fn the_last_point_is_among_the_thinned() {
        let mut series = Series::default();
        (0..100).for_each(|at| series.add(point(at * APART_MS, at)));
        let thinned = series.thinned(30);
        assert!(thinned.len() <= 30);
        assert_eq!(thinned.last().map(|it| it.moves), Some(99));
    }

    #[test]
    fn moves_are_counted_over_the_last_minute() {
        let mut series = Series::default();
        (0..30).for_each(|at| series.add(point(at * APART_MS, at)));
        assert_eq!(series.moves_a_minute(150_000, 30), Some(12.0));
        assert_eq!(series.moves_a_minute(150_000, 3), None, "another leader counts anew");
        assert_eq!(Series::default().moves_a_minute(0, 3), None);
    }
}
