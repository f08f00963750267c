//! A point on a monotonic clock, as a number that a test can write down.
//!
//! `std::time::Instant` cannot be made from a number, stored or printed, so the
//! cores use this instead. It knows no wall clock: a shell that must show a date
//! adds the offset itself.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Nanoseconds since an origin that the caller chose, on a clock that never
/// goes back. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Time(u64);

impl Time {
    /// The origin itself.
    pub const ZERO: Self = Self(0);
    /// Later than any time that is ever reached.
    pub const MAX: Self = Self(u64::MAX);

    /// A time so many nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A time so many milliseconds after the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long ago `earlier` was; zero if it lies ahead.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    /// As [`Time::since`], in nanoseconds: without the division by which a
    /// `Duration` sets its seconds apart.
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}
