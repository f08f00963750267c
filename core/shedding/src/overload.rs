//! Whether a queue is overloaded, and how long each level may wait then.
//!
//! Whether is decided by what was seen: a queue that stands and does not drain.
//! How much is refused follows from the predicted wait against the bounds here,
//! request by request, so that nothing swings: no level is ever switched off as
//! such. Bounds never rise from a level to the next less critical one, and the
//! work ahead never falls, so that nobody is admitted while a more critical
//! request is refused.

use std::time::Duration;

use crate::criticality::Criticality;
use crate::detector::{Detector, SLOTS};
use crate::shares::Standing;
use crate::state::State;
use crate::time::Time;

/// In a burst, the part of a window by which level 4 may wait, and level 3: the
/// steepest burst that is to pass, for half a window, leaves a window of work
/// behind, and chance adds a fifth (three deviations of 240 arrivals).
const BURST: [f64; 2] = [1.5, 2.0];
/// Seconds of work by which that burst makes a queue grow in a second: three times
/// the capacity arrives (goal G12).
const STEEPEST_BURST: f64 = 2.0;
/// What grows faster than that by so many standard deviations of what chance brings
/// is no burst. At 2.75, such bursts lose 0.04 % of level 4 over 20 seeds, at 2.5 the
/// 0.1 % that they may; a step to four times the capacity is seen after 20 ms.
const SURGE_DEVIATIONS: f64 = 2.75;
/// From this part of a window on: before, the places that were free when it began
/// outweigh what is looked for.
const SURGE_FROM: f64 = 0.4;
/// Whole slots for which a queue must stand: one that grows slowly, and one that
/// grows as fast as bursts do and may be one. The steepest burst is over after five
/// slots, and two more show that it is; with one, bursts on top of 0.7 of the
/// capacity cost level 3 some requests.
const STANDING: [usize; 2] = [3, 7];
/// Seconds of work per second: what sets a slow growth apart from a burst's.
const SLOW_GROWTH: f64 = 0.7;
/// Arrivals over capacity in the last slots: above, the queue grows on; below, it
/// works itself off. And how many slots that is seen from: two at the capacity of
/// 1,600 a second bring 32 requests, give or take 18 %.
const GROWS_ON: f64 = 1.15;
const GROWS_ON_SLOTS: usize = 2;
const MIN_SAMPLES: f64 = 8.0;
const WORKS_OFF: f64 = 0.85;
const WORKS_OFF_SLOTS: usize = 4;
/// Below this part of capacity over two windows, with a queue that was empty, an
/// overload is over.
const RECOVERED: f64 = 0.98;

/// Critical arrivals over capacity from which on they alone are too many.
const CRITICAL_LOAD: f64 = 0.95;

/// The two spans that everything else is measured in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
}

/// What the decision to enter or leave is made from.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) detector: &'a Detector,
    pub(crate) tuning: Tuning,
    /// Arrivals over capacity, over two windows.
    pub(crate) load: f64,
    /// Arrivals in a slot that are just what can be carried.
    pub(crate) carried_by_slot: f64,
    /// The wait of a newcomer of level 4, and for how long nobody was served at once.
    pub(crate) wait: Duration,
    pub(crate) grown_for: Duration,
    pub(crate) critical_wait: Duration,
    /// Arrivals of critical requests over capacity, over two windows.
    pub(crate) critical_load: f64,
    /// Work of critical requests that wait.
    pub(crate) critical_backlog: Duration,
    pub(crate) newest_first_after: Duration,
    pub(crate) critical_patience: Duration,
}

impl Seen<'_> {
    /// Whether the queue stands for longer than a burst that grows like it would.
    fn is_standing(&self) -> bool {
        let is_slow = self.wait < self.grown_for.mul_f64(SLOW_GROWTH);
        let whole = STANDING[usize::from(!is_slow)];
        self.wait > self.tuning.target && self.detector.stands_above(self.tuning.target / 2, whole)
    }

    fn is_over(&self, refuses: bool) -> bool {
        let quiet = !refuses && self.wait <= self.tuning.target;
        let recovered = self.detector.was_empty() && self.load < RECOVERED;
        quiet || recovered || self.load_of(WORKS_OFF_SLOTS) < WORKS_OFF
    }

    /// Critical requests wait long and do not drain although, or because, they alone
    /// ask for all there is; or they wait so long that it matters no more why.
    fn critical_is_too_much(&self) -> bool {
        let bound = if self.critical_load > CRITICAL_LOAD {
            self.newest_first_after
        } else {
            self.critical_patience * 2
        };
        let stands = self.critical_wait > bound && !self.detector.is_draining_critical();
        stands || self.critical_wait > self.critical_patience * 4
    }

    /// Judged by the last slots that hold enough requests to judge by.
    fn grows_on(&self) -> bool {
        let enough = |&slots: &usize| self.detector.arrivals(slots) * slots as f64 >= MIN_SAMPLES;
        let slots = (GROWS_ON_SLOTS..SLOTS).find(enough);
        slots.is_some_and(|slots| self.load_of(slots) > GROWS_ON)
    }

    /// Arrivals over capacity in the last slots.
    fn load_of(&self, slots: usize) -> f64 {
        self.detector.arrivals(slots) / self.carried_by_slot.max(1e-9)
    }
}

/// How a queue has grown since nobody waited in it, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// What a newcomer would wait.
    pub(crate) wait: f64,
    pub(crate) grown_for: f64,
    pub(crate) per_request: f64,
    pub(crate) window: f64,
}

impl Growth {
    /// Whether it grows faster than the steepest burst and chance together would
    /// have it. Arrivals and ends are Poisson streams: their difference has the
    /// variance of their sum.
    fn surges(&self) -> bool {
        let excess = self.wait - STEEPEST_BURST * self.grown_for;
        let variance = (STEEPEST_BURST + 2.0) * self.grown_for * self.per_request;
        self.wait > SURGE_FROM * self.window
            && excess > 0.0
            && excess * excess > SURGE_DEVIATIONS * SURGE_DEVIATIONS * variance
    }
}

/// Overload of one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overload {
    active: bool,
    saturated: bool,
    refused_at: [Option<Time>; 4],
    full_at: Option<Time>,
}

impl Overload {
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// Something is shed, or critical requests alone are too many.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.active || self.saturated
    }

    /// Critical requests alone are too many.
    pub(crate) fn is_saturated(&self) -> bool {
        self.saturated
    }

    pub(crate) fn refused(&mut self, at: Time, level: Criticality) {
        self.refused_at[level.index()] = Some(at);
    }

    pub(crate) fn bound_reached(&mut self, at: Time) {
        self.full_at = Some(at);
    }

    /// Decides anew, once a slot.
    pub(crate) fn update(&mut self, at: Time, seen: &Seen<'_>) {
        self.active = if self.active {
            !seen.is_over(self.any_refused_within(at, seen.tuning.interval))
        } else {
            seen.is_standing() && seen.grows_on()
        };
        self.update_saturated(seen);
    }

    fn update_saturated(&mut self, seen: &Seen<'_>) {
        self.saturated = if self.saturated {
            seen.critical_backlog > seen.tuning.target
        } else {
            seen.critical_is_too_much()
        };
    }

    fn any_refused_within(&self, at: Time, span: Duration) -> bool {
        self.refused_at.iter().any(|&refused| within(at, refused, span))
    }

    /// The longest wait for which a request is taken in during an overload, in
    /// units of the target, or of more where the target is less than the natural
    /// fluctuation of arrivals. `None`: whatever it is.
    #[inline]
    pub(crate) fn units(level: Criticality, standing: Standing) -> Option<u32> {
        let within = standing == Standing::Within;
        match level {
            Criticality::Infrastructure | Criticality::CoreFlow => None,
            Criticality::Feature => Some(if within { 4 } else { 3 }),
            Criticality::Internal => Some(if within { 2 } else { 1 }),
        }
    }

    /// Whether a request is refused while there is no overload: its wait would be
    /// too long for any burst, or grows faster than bursts do.
    pub(crate) fn is_no_burst(level: Criticality, growth: Growth) -> bool {
        match level {
            Criticality::Infrastructure | Criticality::CoreFlow => false,
            Criticality::Feature => growth.wait > growth.window * BURST[1],
            Criticality::Internal => growth.wait > growth.window * BURST[0] || growth.surges(),
        }
    }

    /// The name for what is happening.
    pub(crate) fn state(&self, at: Time, interval: Duration) -> State {
        let refused = |level: Criticality| within(at, self.refused_at[level.index()], interval);
        if within(at, self.full_at, interval) {
            State::Full
        } else if self.saturated {
            State::Critical
        } else if refused(Criticality::Feature) {
            State::ShedFeatures
        } else if self.active || refused(Criticality::Internal) {
            State::ShedInternal
        } else {
            State::Normal
        }
    }
}

fn within(at: Time, then: Option<Time>, span: Duration) -> bool {
    then.is_some_and(|then| u128::from(at.nanos_since(then)) <= span.as_nanos())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNIT: Duration = Duration::from_millis(5);
    const WINDOW: Duration = Duration::from_millis(100);
    const STANDINGS: [Standing; 3] = [Standing::Within, Standing::Beyond, Standing::BeyondShare];

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn no_level_may_wait_longer_than_a_more_critical_one() {
        for one in STANDINGS {
            for other in STANDINGS {
                let feature = Overload::units(Criticality::Feature, one);
                let internal = Overload::units(Criticality::Internal, other);
                assert!(internal < feature);
            }
        }
        assert_eq!(Overload::units(Criticality::CoreFlow, Standing::Within), None);
    }

    proptest! {
        #[test]
        fn in_a_burst_too_level_4_is_refused_first(
            wait in 0..1000u64, grown_for in 0..1000u64, more in 0..1000u64,
        ) {
            let seconds = |millis: u64| millis as f64 / 1e3;
            let refused = |level, wait| {
                let (wait, grown_for) = (seconds(wait), seconds(grown_for));
                Overload::is_no_burst(level, Growth { wait, grown_for, per_request: 6e-4, window: 0.1 })
            };
            let feature = refused(Criticality::Feature, wait);
            prop_assert!(!feature || refused(Criticality::Internal, wait + more));
            prop_assert!(!refused(Criticality::CoreFlow, wait));
        }
    }

    /// A queue after so many slots with a wait of 10 ms and so many arrivals each,
    /// where eight can be carried.
    fn judged(overload: &mut Overload, slots: u64, arrived: u32, grown_for: u64) -> bool {
        let mut detector = Detector::new();
        (0..slots).for_each(|_| detector.roll(1, arrived, 0, ms(10)));
        let seen = Seen {
            detector: &detector,
            tuning: Tuning { target: UNIT, interval: WINDOW },
            load: f64::from(arrived) / 8.0,
            carried_by_slot: 8.0,
            wait: ms(10),
            grown_for: ms(grown_for),
            critical_wait: Duration::ZERO,
            critical_load: 0.0,
            critical_backlog: Duration::ZERO,
            newest_first_after: ms(100),
            critical_patience: ms(300),
        };
        overload.update(Time::from_millis(1000), &seen);
        overload.is_active()
    }

    #[test]
    fn a_queue_that_stands_and_grows_is_overloaded_within_half_a_window() {
        assert!(judged(&mut Overload::default(), 4, 11, 40));
        assert!(!judged(&mut Overload::default(), 2, 11, 40));
    }

    #[test]
    fn one_that_grew_as_fast_as_a_burst_is_given_longer() {
        assert!(!judged(&mut Overload::default(), 6, 11, 5));
        assert!(judged(&mut Overload::default(), 8, 11, 5));
    }

    #[test]
    fn one_that_works_itself_off_is_not_overloaded_and_no_longer() {
        let mut overload = Overload::default();
        assert!(!judged(&mut overload, 9, 4, 40));
        assert!(judged(&mut overload, 9, 11, 40));
        assert!(!judged(&mut overload, 9, 4, 40));
    }

    #[test]
    fn states_are_named_by_the_worst_that_happened_in_the_window() {
        let mut overload = Overload::default();
        let at = Time::from_millis(500);
        assert_eq!(overload.state(at, WINDOW), State::Normal);
        overload.refused(at, Criticality::Internal);
        assert_eq!(overload.state(at, WINDOW), State::ShedInternal);
        overload.refused(at, Criticality::Feature);
        assert_eq!(overload.state(at, WINDOW), State::ShedFeatures);
        overload.bound_reached(at);
        assert_eq!(overload.state(at, WINDOW), State::Full);
        assert_eq!(overload.state(at + ms(101), WINDOW), State::Normal);
    }
}
