//! The monotonic clock, as the cores want it told.
//!
//! It stands still while the machine is suspended, as `CLOCK_MONOTONIC` does: a
//! process that slept through its lease learns of that only from the server. What
//! protects shared data then is the generation.

use std::time::Duration;

use plimsoll_placement::time::Time;
use tokio::time::Instant;

/// Tells the time since it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn now(self) -> Time {
        Time::ZERO + self.origin.elapsed()
    }

    /// The instant of a time of this clock.
    pub(crate) fn instant(self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.as_nanos())
    }
}
