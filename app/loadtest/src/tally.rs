//! Counts by outcome, and how long the answers took.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::latency::{Latency, Percentiles};
use crate::outcome::Outcome;

/// How many requests ended in each way.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Meant to start; the sum of the others once all have ended.
    pub offered: u64,
    /// See [`Outcome::Ok`].
    pub ok: u64,
    /// See [`Outcome::Shed`].
    pub shed: u64,
    /// See [`Outcome::Expired`].
    pub expired: u64,
    /// See [`Outcome::Failed`].
    pub failed: u64,
    /// See [`Outcome::TimedOut`].
    pub timed_out: u64,
    /// See [`Outcome::NotStarted`].
    pub not_started: u64,
}

impl Counts {
    /// How many ended so.
    pub fn of(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Ok => self.ok,
            Outcome::Shed => self.shed,
            Outcome::Expired => self.expired,
            Outcome::Failed => self.failed,
            Outcome::TimedOut => self.timed_out,
            Outcome::NotStarted => self.not_started,
        }
    }

    /// How many have ended in any way.
    pub fn ended(&self) -> u64 {
        Outcome::ALL.iter().map(|outcome| self.of(*outcome)).sum()
    }

    pub(crate) fn settle(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::Shed => &mut self.shed,
            Outcome::Expired => &mut self.expired,
            Outcome::Failed => &mut self.failed,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::NotStarted => &mut self.not_started,
        } += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.ok += other.ok;
        self.shed += other.shed;
        self.expired += other.expired;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.not_started += other.not_started;
    }
}

/// Counts and times of a group of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    /// Of those that were ok, from the intended start.
    latency: Latency,
    /// Of those that were shed, from the intended start.
    refusal: Latency,
}

impl Tally {
    pub(crate) fn offer(&mut self) {
        self.counts.offered += 1;
    }

    pub(crate) fn settle(&mut self, outcome: Outcome, took: Duration) {
        self.counts.settle(outcome);
        match outcome {
            Outcome::Ok => self.latency.record(took),
            Outcome::Shed => self.refusal.record(took),
            Outcome::Expired | Outcome::Failed | Outcome::TimedOut | Outcome::NotStarted => {}
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.latency.add(&other.latency);
        self.refusal.add(&other.refusal);
    }

    pub(crate) fn latency_at(&self, percent: f64) -> Option<f64> {
        self.latency.at(percent)
    }

    pub(crate) fn clear(&mut self) {
        self.counts = Counts::default();
        self.latency.clear();
        self.refusal.clear();
    }

    /// As figures of a stretch of time.
    pub(crate) fn figures(&self, lasts: Duration) -> Figures {
        let a_second = |count: u64| rounded(count as f64 / lasts.as_secs_f64().max(1e-9));
        Figures {
            counts: self.counts,
            offered_rate: a_second(self.counts.offered),
            ok_rate: a_second(self.counts.ok),
            latency: self.latency.percentiles(),
            refusal: self.refusal.percentiles(),
        }
    }
}

fn rounded(rate: f64) -> f64 {
    (rate * 1000.0).round() / 1000.0
}

/// What a group of requests came to.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Figures {
    /// By outcome.
    #[serde(flatten)]
    pub counts: Counts,
    /// Offered, in requests a second.
    pub offered_rate: f64,
    /// Ok, in requests a second.
    pub ok_rate: f64,
    /// Time from the intended start to the end of an ok answer.
    pub latency: Option<Percentiles>,
    /// Time from the intended start to the end of a refusal.
    pub refusal: Option<Percentiles>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_have_times_and_everything_is_counted() {
        let mut tally = Tally::default();
        for outcome in Outcome::ALL {
            tally.offer();
            tally.settle(outcome, Duration::from_millis(5));
        }
        let figures = tally.figures(Duration::from_secs(2));
        assert_eq!(figures.counts.ended(), 6);
        assert_eq!(figures.counts.offered, 6);
        assert_eq!((figures.offered_rate, figures.ok_rate), (3.0, 0.5));
        assert_eq!(figures.latency.unwrap().count, 1);
        assert_eq!(figures.refusal.unwrap().count, 1);
    }
}
