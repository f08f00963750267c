//! How much is refused because the runtime itself is late.
//!
//! When handlers burn CPU, requests queue for the runtime before anybody has seen
//! them, and the only sign is that timers run late. There is no wait to predict
//! for one request, so the refused part is found by a controller with memory:
//! proportional and integral in the lag against its target (Cinnamon's answer
//! too). It is one position on a scale on which level 4 goes first, then level 3.

use std::time::Duration;

use crate::criticality::Criticality;
use crate::time::Time;

/// Refused per second and per target that the lag is off by; and at once.
const INTEGRAL: f64 = 2.0;
const PROPORTIONAL: f64 = 0.4;
/// A lag beyond so many targets counts as that.
const WORST: f64 = 4.0;
/// Below this part of the target the runtime has nothing to do; after so many such
/// readings what is refused comes back faster, by that factor.
const NOTHING_TO_DO: f64 = 0.1;
const RESTED: u32 = 4;
const RESTED_GAIN: f64 = 6.0;
/// Readings farther apart than this say no more than these.
const LONGEST: Duration = Duration::from_millis(200);
/// A reading not repeated for so long no longer counts.
const STALE_AFTER: Duration = Duration::from_secs(5);
/// All of levels 3 and 4.
const ALL: f64 = 2.0;

/// The controller, in units of the target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throttle {
    last: f64,
    rested: u32,
    /// What is remembered: the integral.
    held: f64,
    refused: f64,
    read_at: Option<Time>,
}

impl Throttle {
    /// Whether anything is refused.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.refused > 0.0
    }

    /// A timer was late by so many targets.
    pub(crate) fn read(&mut self, at: Time, lag: f64) {
        let passed = self.read_at.map_or(Duration::ZERO, |last| at - last);
        self.read_at = Some(at);
        if passed > STALE_AFTER {
            *self = Self { read_at: Some(at), ..Self::default() };
        }
        // One long turn is no overload: the smaller of two readings counts.
        let lasting = lag.min(self.last);
        self.last = lag;
        self.rested = if lag < NOTHING_TO_DO { self.rested + 1 } else { 0 };
        self.steer(lasting.min(WORST + 1.0) - 1.0, passed.min(LONGEST).as_secs_f64());
    }

    fn steer(&mut self, error: f64, passed: f64) {
        let rest = if self.rested >= RESTED { RESTED_GAIN } else { 1.0 };
        let gain = self.gain();
        let held = self.held + INTEGRAL * error * passed * rest * gain;
        self.held = held.clamp(0.0, ALL);
        self.refused = (self.held + PROPORTIONAL * error * gain).clamp(0.0, ALL);
    }

    /// Steps are in proportion to what is still let through of the level that is
    /// being cut: a little of much traffic is as much as a lot of little.
    fn gain(&self) -> f64 {
        let left = 1.0 - self.held.fract();
        (2.0 * left).clamp(0.1, 1.0)
    }

    /// The part of a level that is refused, 0 to 1.
    pub(crate) fn part(&self, at: Time, level: Criticality) -> f64 {
        let fresh = self.read_at.is_some_and(|read| at - read <= STALE_AFTER);
        let refused = match level {
            Criticality::Feature if fresh => self.refused - 1.0,
            Criticality::Internal if fresh => self.refused,
            _ => 0.0,
        };
        refused.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lags: &[f64]) -> (Throttle, Time) {
        let (mut throttle, mut at) = (Throttle::default(), Time::from_millis(1000));
        for &lag in lags {
            at += Duration::from_millis(10);
            throttle.read(at, lag);
        }
        (throttle, at)
    }

    #[test]
    fn one_long_turn_refuses_nobody() {
        let (throttle, _) = after(&[0.0, 5.0, 0.0, 0.0, 5.0, 0.0]);
        assert!(!throttle.is_on());
    }

    #[test]
    fn lasting_lag_refuses_level_4_first_and_critical_requests_never() {
        for readings in 1..400 {
            let (throttle, at) = after(&vec![2.0; readings]);
            let [two, three, four] =
                [Criticality::CoreFlow, Criticality::Feature, Criticality::Internal]
                    .map(|level| throttle.part(at, level));
            assert!(two == 0.0 && (three == 0.0 || four == 1.0));
            assert!(readings < 3 || four > 0.0, "{readings}");
        }
    }

    #[test]
    fn what_is_refused_comes_back_within_a_fifth_of_a_second() {
        let mut lags = vec![2.0; 20];
        lags.extend([0.0; 20]);
        assert!(after(&lags[..20]).0.is_on());
        assert!(!after(&lags).0.is_on());
    }

    #[test]
    fn a_reading_that_is_not_repeated_is_forgotten() {
        let (throttle, at) = after(&[5.0; 50]);
        assert!(throttle.part(at, Criticality::Internal) > 0.1);
        assert_eq!(throttle.part(at + Duration::from_secs(6), Criticality::Internal), 0.0);
    }
}
