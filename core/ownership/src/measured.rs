//! What is known of a shard's load: an estimate, and the report it follows.
//!
//! The modes smooth differently: `greedy` by the Go Shard Manager's formula, whose
//! figures it must reproduce; `adaptive` also wants to know how noisy a load is and
//! must not be late when one changes for good. The level carries over when an
//! operator changes the mode.
//!
//! An average over time does not mind how often a report is looked at while it
//! stands. An estimate of noise does: a report that is counted twice looks like two
//! that agree. So each measurement counts once: that of a unary heartbeat when it
//! comes; that of a session, which tells changes only, once a cycle.

use std::time::Duration;

use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::smoothing::{Estimate, Smoothed};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::Load;

/// As a part of the report: an average that is closer to it has arrived.
const ARRIVED: f64 = 1e-6;

/// How reports become a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Smoothing {
    time_constant: Duration,
    /// Whether noise is measured and steps are followed.
    estimates: bool,
}

/// The load of one shard as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    estimate: Estimate,
    reported: f64,
}

impl Smoothing {
    pub(crate) fn of(policy: &Policy) -> Self {
        Self {
            time_constant: policy.load_smoothing_time_constant(),
            estimates: policy.mode == Mode::Adaptive,
        }
    }
}

impl Measured {
    /// What is known once `report` has come.
    pub(crate) fn after(
        previous: Option<Self>,
        now: Time,
        report: f64,
        smoothing: Smoothing,
    ) -> Self {
        let last = previous.map(|it| it.estimate);
        let estimate = match smoothing.estimates {
            true => Estimate::after(last, now, report, smoothing.time_constant),
            false => averaged(last, now, report, smoothing.time_constant),
        };
        Self { estimate, reported: report }
    }

    /// A level from a checkpoint.
    pub(crate) fn restored(now: Time, level: f64) -> Self {
        Self { estimate: Estimate::restored(now, level), reported: level }
    }

    /// A cycle: the last report stood until now. `tells_changes`: it would have been
    /// replaced if the load were another by now. What was at rest has been left alone
    /// since, up to `last`, the cycle before.
    pub(crate) fn at_cycle(
        self,
        now: Time,
        last: Option<Time>,
        smoothing: Smoothing,
        tells_changes: bool,
    ) -> Self {
        match (smoothing.estimates, tells_changes) {
            (true, false) => self,
            (true, true) => {
                let estimate = self.estimate.standing_until(last.unwrap_or(Time::ZERO));
                Self::after(Some(Self { estimate, ..self }), now, self.reported, smoothing)
            }
            (false, _) => Self::after(Some(self), now, self.reported, smoothing),
        }
    }

    /// Whether it will be another at the next cycle without another report.
    pub(crate) fn is_on_its_way(&self, smoothing: Smoothing, tells_changes: bool) -> bool {
        match smoothing.estimates {
            true => tells_changes && !self.estimate.is_at_rest(self.reported),
            false => (self.smoothed() - self.reported).abs() > ARRIVED * self.reported,
        }
    }

    /// The last report stood until now; from now on this one does.
    pub(crate) fn changed(self, now: Time, report: f64, smoothing: Smoothing) -> Self {
        Self { reported: report, ..self.until(now, smoothing) }
    }

    /// As of now, without a measurement.
    pub(crate) fn until(self, now: Time, smoothing: Smoothing) -> Self {
        match smoothing.estimates {
            true => self,
            false => Self::after(Some(self), now, self.reported, smoothing),
        }
    }

    pub(crate) fn smoothed(&self) -> f64 {
        self.estimate.value()
    }

    pub(crate) fn load(&self) -> Load {
        self.estimate.load(self.reported)
    }
}

/// The Go Shard Manager's average, which knows nothing of noise.
fn averaged(last: Option<Estimate>, now: Time, report: f64, time_constant: Duration) -> Estimate {
    let last = last.map(|it| Smoothed { value: it.value(), updated_at: it.updated_at() });
    // A load that does not change must not be worn down by rounding.
    match last {
        Some(last) if last.value == report => Estimate::restored(now, report),
        _ => Estimate::restored(now, Smoothed::after(last, now, report, time_constant).value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_of_a_load_takes_48_bytes() {
        assert_eq!(size_of::<Option<Measured>>(), 48);
    }

    #[test]
    fn a_load_that_was_left_alone_changes_as_one_that_was_looked_at() {
        let smoothing = Smoothing::of(&Policy::default());
        let at = |second: u64| Time::from_millis(second * 1000);
        let mut watched = Measured::after(None, at(0), 10.0, smoothing);
        let mut second = 0;
        while watched.is_on_its_way(smoothing, true) {
            second += 1;
            watched = watched.at_cycle(at(second), Some(at(second - 1)), smoothing, true);
        }
        let mut left_alone = watched;
        for later in second + 1..second + 100 {
            watched = watched.at_cycle(at(later), Some(at(later - 1)), smoothing, true);
        }
        let (last, now) = (second + 99, at(second + 100));
        watched = watched.changed(now, 12.0, smoothing);
        left_alone = left_alone.changed(now, 12.0, smoothing);
        for it in [&mut watched, &mut left_alone] {
            *it = it.at_cycle(now, Some(at(last)), smoothing, true);
        }
        assert!((watched.smoothed() - left_alone.smoothed()).abs() < 1e-2, "{watched:?}");
    }
}
