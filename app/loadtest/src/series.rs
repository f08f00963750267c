//! Figures by second of the intended start, each reduced to a row as soon as all its
//! requests have ended, so that memory does not grow with requests.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::tally::{Counts, Tally};

/// What was meant to start within one second came to this.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Second {
    /// Seconds since the start of the run.
    pub second: u64,
    /// By outcome.
    #[serde(flatten)]
    pub counts: Counts,
    /// Median of the ok ones, in milliseconds from the intended start.
    pub p50_ms: Option<f64>,
    /// 90th percentile of the same.
    pub p90_ms: Option<f64>,
    /// 99th percentile of the same.
    pub p99_ms: Option<f64>,
    /// By caller, in the report's order of callers.
    pub callers: Vec<CallerCounts>,
}

/// A caller's part of a second.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct CallerCounts {
    /// Meant to start.
    pub offered: u32,
    /// Ok.
    pub ok: u32,
    /// Shed.
    pub shed: u32,
}

#[derive(Debug)]
struct Open {
    tally: Tally,
    callers: Vec<CallerCounts>,
}

/// The rows so far and the seconds that are still open.
#[derive(Debug)]
pub(crate) struct Series {
    callers: usize,
    rows: Vec<Second>,
    open: VecDeque<Open>,
}

impl Series {
    /// For so many callers.
    pub(crate) fn new(callers: usize) -> Self {
        Self { callers, rows: Vec::new(), open: VecDeque::new() }
    }

    /// A request that is meant to start. Starts come in order.
    pub(crate) fn offer(&mut self, at: Duration, caller: usize) {
        while self.rows.len() + self.open.len() <= second(at) {
            self.open.push_back(Open {
                tally: Tally::default(),
                callers: vec![CallerCounts::default(); self.callers],
            });
            self.close();
        }
        if let Some(open) = self.find(at) {
            open.tally.offer();
            open.count(caller, |counts| &mut counts.offered);
        }
    }

    /// A request that was offered has ended.
    pub(crate) fn settle(&mut self, at: Duration, caller: usize, outcome: Outcome, took: Duration) {
        if let Some(open) = self.find(at) {
            open.tally.settle(outcome, took);
            match outcome {
                Outcome::Ok => open.count(caller, |counts| &mut counts.ok),
                Outcome::Shed => open.count(caller, |counts| &mut counts.shed),
                _ => {}
            }
        }
        self.close();
    }

    /// Everything, once all requests have ended.
    pub(crate) fn finish(mut self) -> Vec<Second> {
        while let Some(open) = self.open.pop_front() {
            self.rows.push(open.row(self.rows.len()));
        }
        self.rows
    }

    fn find(&mut self, at: Duration) -> Option<&mut Open> {
        self.open.get_mut(second(at).checked_sub(self.rows.len())?)
    }

    /// Reduces seconds in which nothing can happen any more: all but the last offered.
    fn close(&mut self) {
        while self.open.len() > 1
            && self.open.front().is_some_and(|open| open.is_settled())
            && let Some(open) = self.open.pop_front()
        {
            self.rows.push(open.row(self.rows.len()));
        }
    }
}

fn second(at: Duration) -> usize {
    usize::try_from(at.as_secs()).unwrap_or(usize::MAX)
}

impl Open {
    fn is_settled(&self) -> bool {
        self.tally.counts.ended() == self.tally.counts.offered
    }

    fn count(&mut self, caller: usize, field: fn(&mut CallerCounts) -> &mut u32) {
        if let Some(counts) = self.callers.get_mut(caller) {
            *field(counts) += 1;
        }
    }

    fn row(self, index: usize) -> Second {
        Second {
            second: index as u64,
            counts: self.tally.counts,
            p50_ms: self.tally.latency_at(50.0),
            p90_ms: self.tally.latency_at(90.0),
            p99_ms: self.tally.latency_at(99.0),
            callers: self.callers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(3);

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn requests_count_in_the_second_of_their_intended_start() {
        let mut series = Series::new(2);
        series.offer(at(900), 0);
        series.offer(at(1100), 1);
        series.settle(at(1100), 1, Outcome::Shed, TOOK);
        series.settle(at(900), 0, Outcome::Ok, at(1500));
        let rows = series.finish();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].counts.ok, rows[1].counts.shed), (1, 1));
        assert_eq!(rows[0].p99_ms.map(f64::floor), Some(1500.0));
        assert_eq!(rows[1].p99_ms, None);
        assert_eq!(rows[1].callers[1], CallerCounts { offered: 1, ok: 0, shed: 1 });
    }

    #[test]
    fn a_second_stays_open_for_its_slowest_request() {
        let mut series = Series::new(0);
        series.offer(at(0), 0);
        for second in 1..50 {
            series.offer(at(second * 1000), 0);
            series.settle(at(second * 1000), 0, Outcome::Ok, TOOK);
        }
        assert_eq!(series.rows.len(), 0);
        series.settle(at(0), 0, Outcome::TimedOut, at(49_000));
        assert_eq!(series.rows.len(), 49);
        assert_eq!(series.open.len(), 1);
        assert_eq!(series.finish().len(), 50);
    }

    #[test]
    fn silent_seconds_have_rows_of_their_own() {
        let mut series = Series::new(0);
        series.offer(at(3500), 0);
        series.settle(at(3500), 0, Outcome::Ok, TOOK);
        let offered: Vec<u64> = series.finish().iter().map(|row| row.counts.offered).collect();
        assert_eq!(offered, [0, 0, 0, 1]);
    }
}
