//! Shows the progress to the observer from time to time.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::bench::Bench;
use crate::observe::{Observer, Progress};

/// How often the observer is shown the progress.
const LOOK: Duration = Duration::from_secs(1);
/// Looks at the run from time to time.
#[derive(Debug)]
pub(super) struct Looks {
    ticks: Interval,
    start: Instant,
    last: Instant,
}

impl Looks {
    pub(super) fn new(start: Instant) -> Self {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        Self { ticks, start, last: start }
    }

    pub(super) async fn next(&mut self, bench: &Bench, observer: &mut impl Observer) {
        self.ticks.tick().await;
        let now = Instant::now();
        let progress = self.look(bench, now);
        self.last = now;
        observer.progress(&progress);
    }

    fn look(&self, bench: &Bench, now: Instant) -> Progress {
        let elapsed = now - self.start;
        let mut ledger = bench.ledger.lock();
        Progress {
            elapsed,
            planned: bench.planned(),
            rate: bench.plan.profile().rate_at(elapsed),
            in_flight: ledger.in_flight(),
            recent: ledger.take_recent(now - self.last),
            total: ledger.total(elapsed).counts,
            callers: ledger.caller_counts(),
            lag_p99_ms: ledger.lag().at(99.0),
        }
    }
}
