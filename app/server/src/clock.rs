//! The one place where the server reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plimsoll_placement::time::Time;

/// Monotonic time for decisions, with the wall clock of its start for people.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_ms: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), start_ms: millis(since_1970) }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    /// What `Time::ZERO` is in milliseconds since 1970.
    pub fn epoch_ms(&self) -> u64 {
        self.start_ms
    }

    /// Now, in milliseconds since 1970: the wall clock of the start plus what
    /// has passed since, so that it never goes back.
    pub fn wall_ms(&self) -> u64 {
        self.start_ms + millis(self.start.elapsed())
    }

    /// The same moment for tokio's timers.
    pub fn instant(&self, time: Time) -> Instant {
        let since = Duration::from_nanos(time.as_nanos());
        self.start.checked_add(since).unwrap_or_else(|| self.start + FAR_AWAY)
    }
}

/// Longer than any server runs.
const FAR_AWAY: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
