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

    /// The part of a level that is refused, 0 to 1, and the resource that refuses
    /// most of it; `None` if nothing is.
    pub(crate) fn refused(&self, at: Time, level: Criticality) -> Option<(SignalKind, f64)> {
        let lag = (SignalKind::Lag, self.lag.part(at, level));
        self.pressing(at)
            .filter(|it| it.0 != SignalKind::Lag)
            .map(|(kind, pressure)| (kind, part(level, pressure)))
            .chain([lag])
            .max_by(worse)
            .filter(|it| it.1 > 0.0)
    }

    /// The least critical level of which nothing is refused.
    pub(crate) fn admitted_level(&self, at: Time) -> Criticality {
        let refuses = |level| self.is_on() && self.refused(at, level).is_some();
        if refuses(Criticality::Feature) {
            Criticality::CoreFlow
        } else if refuses(Criticality::Internal) {
            Criticality::Feature
        } else {
            Criticality::Internal
        }
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

/// The part of a level that a pressure refuses.
fn part(level: Criticality, pressure: f64) -> f64 {
    let beyond = match level {
        Criticality::Internal => pressure - 1.0,
        Criticality::Feature => pressure - 1.5,
        Criticality::Infrastructure | Criticality::CoreFlow => return 0.0,
    };
    (beyond / 0.5).clamp(0.0, 1.0)
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
        assert!(Criticality::ALL.iter().all(|&level| it.refused(NOW, level).is_none()));
        assert_eq!(it.admitted_level(NOW), Criticality::Internal);
    }

    #[test]
    fn level_3_is_touched_only_when_all_of_level_4_is_gone() {
        for step in 0..300 {
            let it = pressed(1.0 + f64::from(step) / 100.0);
            let [feature, internal] = [Criticality::Feature, Criticality::Internal]
                .map(|level| it.refused(NOW, level).map_or(0.0, |it| it.1));
            assert!(feature == 0.0 || internal == 1.0, "{step}");
            let admitted = match (feature > 0.0, internal > 0.0) {
                (true, _) => Criticality::CoreFlow,
                (_, true) => Criticality::Feature,
                _ => Criticality::Internal,
            };
            assert_eq!(it.admitted_level(NOW), admitted, "{step}");
        }
    }

    #[test]
    fn critical_requests_are_never_refused_and_the_name_is_given() {
        let it = pressed(1e300);
        assert_eq!(it.refused(NOW, Criticality::CoreFlow), None);
        assert_eq!(it.refused(NOW, Criticality::Feature), Some((SignalKind::Memory, 1.0)));
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
