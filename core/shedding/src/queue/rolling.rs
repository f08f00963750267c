//! What a queue measures and decides once a slot: a tenth of its window.

use std::time::Duration;

use super::Queue;
use crate::criticality::Criticality;
use crate::overload::{Seen, Tuning};
use crate::settings::{Auto, QueueSettings};
use crate::time::Time;
use crate::waiting::WaitingRoom;

/// A reserve is kept for so long after the last request of level 1.
const RESERVE_FOR: Duration = Duration::from_secs(1);
/// What gathered while the process stood still comes in within so long, and what is
/// measured of it is forgotten: it says nothing about how much is asked for.
const WAKING: Duration = Duration::from_secs(1);

impl Queue {
    /// Closes the slots that are over.
    pub(crate) fn roll(&mut self, room: &WaitingRoom, at: Time) {
        let slot = self.slot();
        let passed = 1 + at.nanos_since(self.next_roll) / (slot.as_nanos() as u64).max(1);
        let arrived = self.demand.fold(slot, passed);
        self.rate.fold(at, slot * passed.min(1 << 20) as u32, self.tuning.interval * 5);
        self.lag.roll(at, self.tuning.interval);
        self.remeasure(at);
        let oldest = self.oldest_wait(room, at);
        self.detector.roll(passed, arrived, self.critical(), oldest);
        self.judge(room, at);
        self.fold_shares(slot, passed);
        self.spare_critical(room, at);
        self.limiter.tick(at, self.typical, self.overload.is_overloaded());
        self.update_reserve(at);
        self.note_occupancy(at);
        self.next_roll = at + self.slot();
    }

    fn remeasure(&mut self, at: Time) {
        self.typical = self.handling.mean().unwrap_or_default();
        self.tuning = tuning(&self.settings, self.handling.median());
        let limit = f64::from(self.limiter.current());
        let mean = match self.handling.mean() {
            Some(mean) => mean.as_secs_f64(),
            None => self.first_admitted_at.map_or(0.0, |first| (at - first).as_secs_f64()),
        };
        let suggested = (mean > 0.0).then(|| limit / mean);
        self.per_request = self.rate.per_second(suggested).map_or(0.0, |rate| 1.0 / rate);
        let lag = self.lag.standing();
        (self.lag_seconds, self.window) = (lag.as_secs_f64(), self.tuning.interval.as_secs_f64());
        let unit = self.unit().saturating_sub(lag).as_secs_f64();
        self.per_unit = (unit / self.per_request.max(1e-9)).min(1e9) as u32;
        self.come_again = self.drained_in().as_nanos() as f64;
    }

    fn judge(&mut self, room: &WaitingRoom, at: Time) {
        if at < self.frozen_until {
            return;
        }
        let asked = self.demand.total();
        let seen = Seen {
            detector: &self.detector,
            tuning: self.tuning,
            load: asked * self.per_request,
            carried_by_slot: self.slot().as_secs_f64() / self.per_request.max(1e-12),
            wait: self.predicted_wait(Criticality::Internal),
            grown_for: at - self.empty_at,
            critical_wait: self.critical_wait(room, at),
            critical_load: self.critical_load(at),
            critical_backlog: work(self.critical(), self.per_request),
            newest_first_after: self.settings.newest_first_after,
            critical_patience: self.settings.critical_patience,
        };
        self.overload.update(at, &seen);
        if !self.overload.is_active() {
            self.shares = None;
        }
    }

    fn critical_load(&self, at: Time) -> f64 {
        if at < self.waking_until {
            return 0.0;
        }
        self.demand.above(Criticality::Feature) * self.per_request
    }

    /// Critical requests do not pay for a measurement, unless there are too many of
    /// them anyway.
    fn spare_critical(&mut self, room: &WaitingRoom, at: Time) {
        let bound = self.tuning.target.max(self.typical) * 2;
        if !self.overload.is_saturated() && self.critical_wait(room, at) > bound {
            self.limiter.spare(at);
        }
    }

    fn fold_shares(&mut self, slot: Duration, passed: u64) {
        let rate = if self.per_request > 0.0 { 1.0 / self.per_request } else { f64::INFINITY };
        if let Some(shares) = self.shares.as_mut() {
            shares.fold(slot, passed, rate, &self.demand);
        }
    }

    fn update_reserve(&mut self, at: Time) {
        let limit = self.limiter.current();
        let wanted = self.infrastructure_at.is_some_and(|seen| at - seen <= RESERVE_FOR);
        let part = (f64::from(limit) * self.settings.reserve) as u32;
        self.reserve = if wanted { part } else { 0 };
    }

    /// The process stood still: nothing that was seen may be trusted.
    pub(crate) fn thaw(&mut self, at: Time) {
        self.detector.forget();
        self.frozen_until = at + self.tuning.interval;
        self.waking_until = at + WAKING;
        self.next_roll = at + self.slot();
    }
}

pub(super) fn work(requests: u32, per_request: f64) -> Duration {
    if requests == 0 {
        return Duration::ZERO;
    }
    Duration::try_from_secs_f64(f64::from(requests) * per_request).unwrap_or(Duration::MAX)
}

pub(super) fn tuning(settings: &QueueSettings, median: Option<Duration>) -> Tuning {
    let median = median.unwrap_or(Duration::from_millis(10));
    let target = match settings.target {
        Auto::Fixed(target) => target,
        Auto::Auto => (median / 2).clamp(Duration::from_millis(5), Duration::from_millis(20)),
    };
    let interval = match settings.interval {
        Auto::Fixed(interval) => interval,
        Auto::Auto => (median * 10).clamp(Duration::from_millis(100), Duration::from_secs(1)),
    };
    Tuning { target, interval: interval.max(target * 5) }
}
