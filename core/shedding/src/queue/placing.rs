//! The places of a queue: taking them, giving them back, and measuring with them.

use std::time::Duration;

use super::Queue;
use crate::criticality::Criticality;
use crate::time::Time;

/// Windows, and typical handling times, without an end after which handlers hang.
const HANG_WINDOWS: u32 = 10;
const HANG_HANDLINGS: u32 = 8;

impl Queue {
    /// Whether a request of that level could start if the service has room.
    #[inline]
    pub(crate) fn has_place(&self, level: Criticality) -> bool {
        let reserve = if level == Criticality::Infrastructure { 0 } else { self.reserve };
        self.inflight + reserve < self.limiter.current()
    }

    /// Whether a request of that level is admitted without further thought.
    #[inline]
    pub(crate) fn is_calm(&self, level: Criticality) -> bool {
        self.waiting == 0
            && self.has_place(level)
            && !self.overload.is_active()
            && self.settings.caller_cap.is_none()
    }

    /// Whether a place that comes free is nobody's, and counted for no caller.
    #[inline]
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.waiting == 0 && self.settings.caller_cap.is_none()
    }

    /// A handler starts.
    #[inline]
    pub(crate) fn take_place(&mut self, at: Time, level: Criticality) {
        self.inflight += 1;
        if level == Criticality::Infrastructure {
            self.infrastructure_at = Some(at);
        }
        if self.first_admitted_at.is_none() {
            self.first_admitted_at = Some(at);
        }
    }

    /// Measures with the places and the queue as they are now.
    #[inline(always)]
    pub(crate) fn note_occupancy(&mut self, at: Time) {
        let full = self.waiting > 0 || self.inflight >= self.limiter.current();
        self.rate.meter.set(at, full);
        self.limiter.occupied(at, self.inflight, self.typical);
    }

    /// A place comes free.
    #[inline]
    pub(crate) fn free_place(&mut self, at: Time) {
        self.freed_at = at;
        self.rate.meter.departed();
        self.limiter.departed();
        self.inflight = self.inflight.saturating_sub(1);
    }

    /// After so long without an end handlers hang, rather than take their time.
    pub(crate) fn hangs_after(&self) -> Duration {
        (self.tuning.interval * HANG_WINDOWS).max(self.typical * HANG_HANDLINGS)
    }

    /// What handlers of a dry run wait inside, being more than enforcing would let
    /// run; zero if they are not, or none the slower for it.
    pub(crate) fn hidden_wait(&self) -> Duration {
        match self.crowded.mean() {
            Some(took) if self.is_crowded() => took.saturating_sub(self.typical),
            _ => Duration::ZERO,
        }
    }

    /// Whether more handlers run than enforcing would let run.
    pub(crate) fn is_crowded(&self) -> bool {
        self.dry_running > self.limiter.current()
    }
}
