//! What client layers did, to be shown wherever the service shows its figures.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a [`ClientLayer`](super::ClientLayer) did since it was made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ClientFigures {
    /// Calls passed on.
    pub sent: u64,
    /// Calls that the callee refused.
    pub refused: u64,
    /// Calls kept back since the callee would have refused them.
    pub held_back: u64,
    /// Calls not made since nobody waited any more.
    pub expired: u64,
}

/// What a [`RetryLayer`](super::RetryLayer) did since it was made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RetryFigures {
    /// Calls, each counted once.
    pub calls: u64,
    /// Repetitions.
    pub retries: u64,
    /// Repetitions that the budget did not allow.
    pub over_budget: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct ClientCounters {
    pub(super) sent: Counter,
    pub(super) refused: Counter,
    pub(super) held_back: Counter,
    pub(super) expired: Counter,
}

impl ClientCounters {
    pub(super) fn figures(&self) -> ClientFigures {
        ClientFigures {
            sent: self.sent.get(),
            refused: self.refused.get(),
            held_back: self.held_back.get(),
            expired: self.expired.get(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct RetryCounters {
    pub(super) calls: Counter,
    pub(super) retries: Counter,
    pub(super) over_budget: Counter,
}

impl RetryCounters {
    pub(super) fn figures(&self) -> RetryFigures {
        RetryFigures {
            calls: self.calls.get(),
            retries: self.retries.get(),
            over_budget: self.over_budget.get(),
        }
    }
}
