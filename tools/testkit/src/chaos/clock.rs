//! The one clock of the machine.

use std::ops::Sub;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A moment by `CLOCK_MONOTONIC`, in nanoseconds: every process of the machine
/// reads the same, so that what different ones wrote down can be put in order.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(transparent)]
pub struct Moment(u64);

impl Moment {
    /// The present.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        // Since boot: neither part is negative.
        let part = |value: i64| u64::try_from(value).unwrap_or(0);
        Self(part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec))
    }

    /// How long ago that was.
    pub fn elapsed(self) -> Duration {
        Self::now() - self
    }

    /// Later by so much.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Earlier by so much.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// A moment of a clock that somebody read, in nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds of the clock.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

impl Sub for Moment {
    type Output = Duration;

    /// Zero if `earlier` is the later one.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn other_processes_read_the_same_clock() {
        let read = "import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))";
        let before = Moment::now();
        let Ok(output) = Command::new("python3").args(["-c", read]).output() else { return };
        let text = String::from_utf8(output.stdout).unwrap_or_default();
        let there = Moment::from_nanos(text.trim().parse().unwrap_or_default());
        assert!(before < there && there < Moment::now(), "{before:?} {there:?}");
    }
}
