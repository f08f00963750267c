//! Resources that run out, as the share of levels 3 and 4 that is let through.
//!
//! A signal only ever refuses more: with none, or with all below 1, nothing
//! changes. Up to half above the point from which shedding is wanted, level 4
//! goes step by step; beyond that level 3; levels 1 and 2 never. The lag of the
//! runtime is a queue rather than a stock: see [`crate::throttle`].

use std::cmp::Ordering;
use std::time::Duration;

use crate::criticality::Criticality;
use crate::signal::{Signal, SignalKind};
use crate::throttle::Throttle;
use crate::time::Time;

/// A signal not repeated for so long no longer counts.
const STALE_AFTER: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    pressure: f64,
    taken_at: Time,
}

/// The latest reading of each kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pressure {
    readings: [Reading; SignalKind::ALL.len()],
    pressed: bool,
    lag: Throttle,
}

impl Pressure {
    /// A resource has been measured: half of the step is taken at once, so that
    /// shedding and its effect on the reading do not chase each other.
    pub(crate) fn read(&mut self, at: Time, signal: Signal) {
        if signal.kind == SignalKind::Lag {
            self.lag.read(at, if signal.pressure > 0.0 { signal.pressure } else { 0.0 });
        }
        let fresh = if signal.pressure.is_finite() { signal.pressure.max(0.0) } else { 0.0 };
        let reading = &mut self.readings[signal.kind as usize];
        let stale = at - reading.taken_at > STALE_AFTER;
        let pressure = if stale { fresh } else { (reading.pressure + fresh) / 2.0 };
        *reading = Reading { pressure, taken_at: at };
        self.pressed = self.readings.iter().any(|it| it.pressure > 1.0);
    }

    /// Whether anything may have to be refused.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.pressed || self.lag.is_on()
    }

    /// The resource that refuses a request of that level and rank, 0 (last to go)
    /// to 1.
    pub(crate) fn refuses(&self, at: Time, level: Criticality, rank: f64) -> Option<SignalKind> {
        if self.lag.refuses(at, level, rank) {
            return Some(SignalKind::Lag);
        }
        let proportional = |kind: &(SignalKind, f64)| kind.0 != SignalKind::Lag;
        let (kind, pressure) = self.pressing(at).filter(proportional).max_by(worse)?;
        (rank >= share(level, pressure)).then_some(kind)
    }

    /// The resource that presses most, if any is beyond its point.
    pub(crate) fn worst(&self, at: Time) -> Option<(SignalKind, f64)> {
        self.pressing(at).max_by(worse)
    }

    fn pressing(&self, at: Time) -> impl Iterator<Item = (SignalKind, f64)> {
        SignalKind::ALL
            .into_iter()
            .zip(self.readings)
            .filter(move |(_, it)| it.pressure > 1.0 && at - it.taken_at <= STALE_AFTER)
            .map(|(kind, it)| (kind, it.pressure))
    }
}

fn worse(one: &(SignalKind, f64), two: &(SignalKind, f64)) -> Ordering {
    one.1.total_cmp(&two.1)
}

/// The part of a level that a pressure lets through.
fn share(level: Criticality, pressure: f64) -> f64 {
    match level {
        Criticality::Internal => 1.0 - (pressure - 1.0) / 0.5,
        Criticality::Feature => 1.0 - (pressure - 1.5) / 0.5,
        Criticality::Infrastructure | Criticality::CoreFlow => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(60_000);

    fn pressed(pressure: f64) -> Pressure {
        let mut it = Pressure::default();
        it.read(NOW, Signal { kind: SignalKind::Memory, pressure });
        it
    }

    #[test]
    fn below_its_point_a_resource_refuses_nobody() {
        let it = pressed(1.0);
        assert!(!it.is_on());
        assert!(Criticality::ALL.iter().all(|&level| it.refuses(NOW, level, 0.99).is_none()));
    }

    #[test]
    fn level_3_is_touched_only_when_all_of_level_4_is_gone() {
        for step in 0..300 {
            let it = pressed(1.0 + f64::from(step) / 100.0);
            let internal = it.refuses(NOW, Criticality::Internal, 0.0).is_some();
            let feature = it.refuses(NOW, Criticality::Feature, 0.999).is_some();
            assert!(!feature || internal, "{step}");
        }
    }

    #[test]
    fn critical_requests_are_never_refused_and_the_name_is_given() {
        let it = pressed(1e300);
        assert_eq!(it.refuses(NOW, Criticality::CoreFlow, 1.0), None);
        assert_eq!(it.refuses(NOW, Criticality::Feature, 0.0), Some(SignalKind::Memory));
    }

    #[test]
    fn a_reading_that_is_not_repeated_is_forgotten() {
        let it = pressed(9.0);
        assert_eq!(it.worst(NOW + STALE_AFTER + Duration::from_millis(1)), None);
    }

    #[test]
    fn nonsense_counts_as_no_pressure() {
        for pressure in [f64::NAN, f64::INFINITY, -4.0] {
            assert!(!pressed(pressure).is_on());
        }
    }
}
