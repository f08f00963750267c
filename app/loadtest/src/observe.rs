//! What can be seen of a load test while it runs.

use std::time::Duration;

use crate::tally::{Counts, Figures};

/// A look at a running load test.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the start.
    pub elapsed: Duration,
    /// How long requests are to be offered.
    pub planned: Duration,
    /// The planned rate at this moment, in requests a second; 0 once it only waits.
    pub rate: f64,
    /// Requests under way.
    pub in_flight: u64,
    /// What happened since the last look.
    pub recent: Figures,
    /// Everything so far.
    pub total: Counts,
    /// Everything so far, by caller, in the plan's order.
    pub callers: Vec<Counts>,
    /// 99th percentile of the scheduling lag so far, in milliseconds.
    pub lag_p99_ms: Option<f64>,
}

/// Is shown the progress about once a second.
pub trait Observer: Send {
    /// Called from the run; must not block.
    fn progress(&mut self, progress: &Progress);
}

/// Looks away.
impl Observer for () {
    fn progress(&mut self, _: &Progress) {}
}
