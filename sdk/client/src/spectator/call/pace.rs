//! How often the scouts of one spectator may ask servers, all together: a bucket
//! of permits, so that an outage of many shards costs the servers no more than an
//! outage of one.
//!
//! A permit is got by time, or by a lookup that was of use: each lets two more go.
//! So scouts that find nothing are bounded by the clock alone, and a crowd of new
//! keys, which lookups create, goes as fast as servers answer. It sends nothing and
//! reads no clock.

use std::time::Duration;

use plimsoll_placement::time::Time;

/// Lookups at once after a time without any.
pub(super) const BURST: u64 = 5;
/// Lookups a second while the watch is away.
pub(super) const AWAY_RATE: u64 = 5;
/// Lookups a second while the watch brings the news anyway.
pub(super) const LIVE_RATE: u64 = 1;
/// As many at once while lookups are of use.
const MOST: u64 = 64;
/// What use has earned is kept for so long.
const EARNED_LASTS: Duration = Duration::from_secs(1);

/// In nanoseconds at one lookup a second, so that no rate leaves a fraction.
const PERMIT: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Pace {
    credit: u64,
    at: Time,
    /// When a lookup was last of use.
    used: Option<Time>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { credit: BURST * PERMIT, at: Time::ZERO, used: None }
    }

    /// Takes a permit; `live`: the watch is there.
    ///
    /// # Errors
    /// There is none; when there is one, if nobody else takes it.
    pub(super) fn take(&mut self, now: Time, live: bool) -> Result<(), Time> {
        let rate = if live { LIVE_RATE } else { AWAY_RATE };
        self.earn(now, rate);
        if self.credit < PERMIT {
            let nanos = (PERMIT - self.credit).div_ceil(rate);
            return Err(now + Duration::from_nanos(nanos));
        }
        self.credit -= PERMIT;
        Ok(())
    }

    /// A lookup was of use: it brought what nobody knew.
    pub(super) fn was_of_use(&mut self, now: Time) {
        self.used = Some(now);
        self.credit = (self.credit + 2 * PERMIT).min(MOST * PERMIT);
    }

    fn earn(&mut self, now: Time, rate: u64) {
        let nanos = u64::try_from((now - self.at).as_nanos()).unwrap_or(u64::MAX);
        self.at = self.at.max(now);
        let by_time = self.credit.saturating_add(nanos.saturating_mul(rate)).min(BURST * PERMIT);
        let is_kept = self.used.is_some_and(|used| now - used <= EARNED_LASTS);
        self.credit = if is_kept { self.credit.max(by_time) } else { by_time };
    }
}

#[cfg(test)]
mod tests;
