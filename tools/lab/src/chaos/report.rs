//! What a run has shown, as a table and as JSON.

use std::fmt::Write;
use std::time::Duration;

use plimsoll_testkit::chaos::Moment;
use serde::Serialize;

use super::gauges::Rate;
use super::inflict::Mark;
use super::probe::{EVERY, Granted};
use super::windows::{Effect, Window};

#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    pub(super) seed: u64,
    pub(super) ground: String,
    pub(super) seconds: f64,
    pub(super) faults: usize,
    pub(super) effects: Vec<Effect>,
    pub(super) checks: u64,
    pub(super) violations: Vec<String>,
    pub(super) answered: u64,
    pub(super) lost: usize,
    pub(super) lost_without_fault: usize,
    pub(super) refused_drained: u64,
    /// Moves in windows of faults that touch no executor.
    pub(super) moves_by_leader_changes: usize,
    /// Leases that ended in the same windows.
    pub(super) leases_by_leader_changes: usize,
    pub(super) kill_to_grant: Times,
    pub(super) leave_to_grant: Times,
    pub(super) requests_steady: f64,
    pub(super) requests_most: f64,
    pub(super) requests_most_by: String,
    pub(super) etcd_writes_at_rest: f64,
    pub(super) torn_lines: u64,
}

/// In milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Times {
    pub(super) count: usize,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

impl Times {
    fn of(mut spans: Vec<Duration>) -> Self {
        spans.sort_unstable();
        let at = |part: f64| {
            let index = (part * spans.len() as f64).ceil() as usize;
            spans.get(index.saturating_sub(1)).map_or(0.0, |it| it.as_secs_f64() * 1000.0)
        };
        Self { count: spans.len(), p50_ms: at(0.5), p99_ms: at(0.99) }
    }

    /// From the death of the leader of created shards until a shard is granted
    /// that was asked for after it.
    pub(super) fn after_kills(marks: &[Mark], granted: &[Granted]) -> Self {
        let first_after = |at: Moment| {
            let after = granted.iter().filter(|it| it.asked >= at).map(|it| it.granted).min();
            after.map(|granted| granted - at)
        };
        Self::of(
            marks
                .iter()
                .filter_map(|mark| match mark {
                    Mark::LeaderKilled { at } => first_after(*at),
                    Mark::LeaderLeaves { .. } => None,
                })
                .collect(),
        )
    }

    /// The longest time without a grant while a leader left, less the time between
    /// two that are asked for.
    pub(super) fn while_leaving(marks: &[Mark], granted: &[Granted]) -> Self {
        let mut times: Vec<_> = granted.iter().map(|it| it.granted).collect();
        times.sort_unstable();
        let longest = |from: Moment, to: Moment| {
            let near = times.windows(2).filter(|pair| pair[1] >= from && pair[0] <= to);
            near.map(|pair| pair[1] - pair[0]).max().map(|gap| gap.saturating_sub(EVERY))
        };
        Self::of(
            marks
                .iter()
                .filter_map(|mark| match mark {
                    Mark::LeaderLeaves { from, to } => longest(*from, *to),
                    Mark::LeaderKilled { .. } => None,
                })
                .collect(),
        )
    }
}

/// The median rate while nothing is wrong.
pub(super) fn steady_rate(rates: &[Rate], windows: &[Window]) -> f64 {
    let quiet = |rate: &&Rate| !windows.iter().any(|it| it.covers(rate.at));
    let mut steady: Vec<_> = rates.iter().filter(quiet).map(|rate| rate.a_second).collect();
    steady.sort_by(f64::total_cmp);
    steady.get(steady.len() / 2).copied().unwrap_or(0.0)
}

/// The highest rate while leaders changed, and of which fault and operation.
pub(super) fn highest_rate(rates: &[Rate], windows: &[Window]) -> (f64, String) {
    let of = |rate: &Rate| {
        let window = windows.iter().find(|it| it.covers(rate.at))?;
        let cause = format!("{}, mostly {}", window.kind, rate.mostly);
        window.kind.changes_leaders().then_some((rate.a_second, cause))
    };
    let highest = rates.iter().filter_map(of).max_by(|one, other| one.0.total_cmp(&other.0));
    highest.unwrap_or_default()
}

impl Report {
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, to: &mut String) -> std::fmt::Result {
        writeln!(
            to,
            "{:<22} {:>5} {:>9} {:>6} {:>6} {:>10} {:>6}  mostly",
            "fault", "times", "owned in", "moves", "leases", "slowest", "lost"
        )?;
        for it in &self.effects {
            let Effect { fault, times, slowest_recovery_s: well, moves, lost, mostly, .. } = it;
            let (slowest, leases) = (it.slowest_answer_s, it.leases);
            writeln!(
                to,
                "{fault:<22} {times:>5} {well:>7.1} s {moves:>6} {leases:>6} {slowest:>8.2} s {lost:>6}  {mostly}"
            )?;
        }
        let mut line = |what: &str, value: String| writeln!(to, "{what:<44} {value}");
        line("run", format!("{:.0} s, {} faults, seed {}", self.seconds, self.faults, self.seed))?;
        line("ground", self.ground.clone())?;
        line("ownership checks", self.checks.to_string())?;
        line("violations", self.violations.len().to_string())?;
        line("requests answered, lost", format!("{}, {}", self.answered, self.lost))?;
        line("requests lost while nothing was wrong", self.lost_without_fault.to_string())?;
        line("moves by faults of servers and etcd", self.moves_by_leader_changes.to_string())?;
        line("leases lost by them", self.leases_by_leader_changes.to_string())?;
        line("leader kill -9 to next grant", self.kill_to_grant.text())?;
        line("leader leaves: longest time without a grant", self.leave_to_grant.text())?;
        let times = self.requests_most / self.requests_steady.max(1.0);
        let (steady, most) = (self.requests_steady, self.requests_most);
        line(
            "requests to servers",
            format!(
                "{steady:.0}/s, at most {most:.0}/s when leaders change: {times:.1} times ({})",
                self.requests_most_by
            ),
        )?;
        line("etcd writes at rest", format!("{:.2}/s", self.etcd_writes_at_rest))?;
        for violation in &self.violations {
            writeln!(to, "VIOLATION {violation}")?;
        }
        Ok(())
    }
}

impl Times {
    fn text(&self) -> String {
        let Self { count, p50_ms, p99_ms } = self;
        if *count == 0 {
            return "not measured".to_owned();
        }
        format!("p50 {p50_ms:.0} ms, p99 {p99_ms:.0} ms over {count}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Moment {
        Moment::from_nanos(milliseconds * 1_000_000)
    }

    fn granted(pairs: &[(u64, u64)]) -> Vec<Granted> {
        pairs.iter().map(|it| Granted { asked: at(it.0), granted: at(it.1) }).collect()
    }

    #[test]
    fn after_a_kill_only_what_was_asked_for_later_counts() {
        let marks = [Mark::LeaderKilled { at: at(1_000) }];
        let times =
            Times::after_kills(&marks, &granted(&[(990, 1_001), (1_010, 1_900), (1_060, 1_800)]));
        assert_eq!(times, Times { count: 1, p50_ms: 800.0, p99_ms: 800.0 });
        assert_eq!(Times::after_kills(&marks, &granted(&[(990, 1_001)])).count, 0);
    }

    #[test]
    fn while_a_leader_leaves_the_longest_time_without_a_grant_counts() {
        let marks = [Mark::LeaderLeaves { from: at(1_000), to: at(1_500) }];
        let times = granted(&[(0, 100), (900, 950), (950, 1_000), (1_000, 1_130), (1_180, 1_190)]);
        let times = Times::while_leaving(&marks, &times);
        assert_eq!(times, Times { count: 1, p50_ms: 80.0, p99_ms: 80.0 });
    }

    #[test]
    fn the_99th_of_a_hundred_is_the_last_but_one() {
        let times = Times::of((1..=100).map(Duration::from_millis).collect());
        assert_eq!((times.p50_ms, times.p99_ms), (50.0, 99.0));
    }
}
