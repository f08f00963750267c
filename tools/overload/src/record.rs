//! What became of each request.

use plimsoll_peers::Asked;

use crate::load::Arrival;

/// The fate of one request. Every request has exactly one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// Answered, however late.
    Answered,
    /// Refused before its handler saw it.
    Shed,
    /// It waited until nobody wanted the answer any more.
    Expired,
    /// Anything else that is no answer.
    Failed,
    /// Still under way when the run was over.
    Unfinished,
}

/// One request and its fate.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When it was to be sent, in seconds from the start of what is measured.
    pub at: f64,
    pub asked: Asked,
    pub fate: Fate,
    /// From when it was to be sent to its answer or refusal, in milliseconds.
    pub latency_ms: f64,
    /// From the call of the shedder to its verdict, in milliseconds.
    pub decided_ms: f64,
    /// How much later than intended it was sent, in milliseconds.
    pub lag_ms: f64,
}

/// The record of a request of which nothing is known yet.
pub(crate) fn unfinished(arrival: &Arrival) -> Record {
    Record {
        at: arrival.at,
        asked: arrival.asked,
        fate: Fate::Unfinished,
        latency_ms: 0.0,
        decided_ms: 0.0,
        lag_ms: 0.0,
    }
}

/// An answer later than this is no success: what the reference comparison used.
pub const IN_TIME_MS: f64 = 400.0;

impl Record {
    /// Answered before its caller lost interest.
    pub fn in_time(&self) -> bool {
        self.fate == Fate::Answered && self.latency_ms <= IN_TIME_MS
    }

    /// Refused or expired.
    pub fn turned_away(&self) -> bool {
        matches!(self.fate, Fate::Shed | Fate::Expired)
    }

    /// When it ended, in seconds from the start of what is measured.
    pub fn ended_at(&self) -> f64 {
        self.at + self.latency_ms / 1e3
    }
}

/// How many had which fate. Together they are what was offered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    pub offered: usize,
    pub answered: usize,
    pub shed: usize,
    pub expired: usize,
    pub failed: usize,
    pub unfinished: usize,
}

impl Counts {
    pub fn of(records: &[Record]) -> Self {
        let count = |fate| records.iter().filter(|it| it.fate == fate).count();
        Self {
            offered: records.len(),
            answered: count(Fate::Answered),
            shed: count(Fate::Shed),
            expired: count(Fate::Expired),
            failed: count(Fate::Failed),
            unfinished: count(Fate::Unfinished),
        }
    }

    /// Whether every request that was offered has a fate.
    pub fn add_up(&self) -> bool {
        let fates = self.answered + self.shed + self.expired + self.failed + self.unfinished;
        fates == self.offered
    }
}
