//! How many handlers at once: found by trying, from throughput alone.
//!
//! The limit alternates between its full value and a reduced one, and the rate of
//! departures under full occupancy is compared: the covariance of concurrency and
//! throughput, taken in an experiment instead of waiting for it to show. If fewer
//! places give as many departures, they queue for each other inside the handler;
//! if throughput falls in proportion, more places would give more. A dependency
//! that gets slower slows both alike and changes nothing: there is no baseline
//! that could drift. Handlers that get faster or slower with the limit itself are
//! what moves it.

use std::time::Duration;

use crate::meter::Meter;
use crate::time::Time;

/// Where it begins.
const FIRST: u32 = 24;
/// The reduced limit, as a part of the full one; and after idle rounds.
const REDUCED: f64 = 0.75;
const IDLE_REDUCED: f64 = 0.6;
/// Places per place needed. Times [`REDUCED`] it stays below 1: so the limit
/// shrinks while even the reduced one is more than needed.
const HEADROOM: f64 = 1.3;
/// Departures in a measurement under the reduced limit: their rate is known to a
/// tenth. Those under the full one grow longer by this with each comparison that
/// asked for no change, up to that many times as long: then less than a part in a
/// hundred of throughput is lost by measuring. If they grew sooner, limits that are
/// far too high came down too slowly: on one core the queue beside then waits three
/// times as long.
const SAMPLE: u32 = 128;
const FULL_PER_REDUCED: u32 = 16;
/// The weight of a comparison; and of one that clearly asks for a change.
const WEIGHT: f64 = 0.2;
const QUICK_WEIGHT: f64 = 0.8;
/// The relative loss of departures per relative loss of places: above, there are
/// too few; below, so often in a row, too many.
const CRAMPED: f64 = 0.7;
const IDLE: f64 = 0.1;
const IDLE_ROUNDS: u32 = 2;
/// After this, half a sample is enough.
const HURRY: Duration = Duration::from_secs(2);
/// A measurement that takes longer than this, or than so many handling times, is
/// of changing circumstances and thrown away.
const PATIENCE: Duration = Duration::from_secs(8);
const PATIENCE_HANDLINGS: u32 = 20;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Full,
    Reduced,
}

/// The bounds of a limit; equal if it is given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// Finds the limit of one queue, or of the service.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    bounds: Bounds,
    /// Places that throughput needs, as found.
    needed: f64,
    full: u32,
    phase: Phase,
    /// What the phase makes of the full one.
    limit: u32,
    /// Comparisons in a row in which fewer places gave as many departures.
    idle: u32,
    /// Comparisons since there were clearly too few places, or too many.
    settled: u32,
    meter: Meter,
    phase_since: Time,
    counts_from: Option<Time>,
    full_rate: f64,
    handling: [f64; 2],
}

impl Limiter {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let full = bounds.working(FIRST);
        Self {
            bounds,
            needed: f64::from(full) / HEADROOM,
            full,
            phase: Phase::Full,
            limit: full,
            idle: 0,
            settled: 0,
            meter: Meter::default(),
            phase_since: Time::ZERO,
            counts_from: None,
            full_rate: 0.0,
            handling: [0.0; 2],
        }
    }

    /// New bounds; what was found is kept as far as they allow.
    pub(crate) fn set_bounds(&mut self, at: Time, bounds: Bounds) {
        self.bounds = bounds;
        self.full = bounds.working(self.full);
        self.enter(Phase::Full, at);
    }

    /// Handlers at once that are allowed now.
    #[inline]
    pub(crate) fn current(&self) -> u32 {
        self.limit
    }

    /// Mean handling times under the full and the reduced limit, as last measured.
    pub(crate) fn compared_handling(&self) -> [Duration; 2] {
        self.handling.map(Duration::from_secs_f64)
    }

    /// So many places are taken now; a handler typically takes `handling`.
    #[inline]
    pub(crate) fn occupied(&mut self, at: Time, inflight: u32, handling: Duration) {
        if inflight >= self.limit || self.meter.is_on() {
            self.measure(at, inflight, handling);
        }
    }

    #[cold]
    fn measure(&mut self, at: Time, inflight: u32, handling: Duration) {
        let on = match self.phase {
            Phase::Full => inflight >= self.limit,
            // More run only until those have ended that came before it was reduced.
            Phase::Reduced => inflight == self.limit,
        };
        if on && self.counts_from.is_none() {
            self.counts_from = Some(at + handling);
        }
        self.meter.set(at, on && self.counts_from.is_some_and(|from| at >= from));
    }

    /// A place came free.
    #[inline]
    pub(crate) fn departed(&mut self) {
        self.meter.departed();
    }

    /// Closes a measurement if there is enough of it. The limit is reduced only
    /// while there is too much to do anyway: else a queue might come of it.
    pub(crate) fn tick(&mut self, at: Time, handling: Duration, overloaded: bool) {
        if self.bounds.min == self.bounds.max {
            return;
        }
        if !overloaded {
            return self.spare(at);
        }
        let took = at - self.phase_since;
        let enough = if took > HURRY { SAMPLE / 2 } else { self.sample() };
        if self.meter.departures() >= enough {
            self.measured(at);
        } else if took > PATIENCE.max(handling * PATIENCE_HANDLINGS) {
            self.enter(Phase::Full, at);
        }
    }

    /// Ends a measurement under the reduced limit that does harm.
    pub(crate) fn spare(&mut self, at: Time) {
        if self.phase == Phase::Reduced {
            self.enter(Phase::Full, at);
        }
    }

    fn sample(&self) -> u32 {
        match self.phase {
            Phase::Full => SAMPLE * self.settled.saturating_mul(2).clamp(2, FULL_PER_REDUCED),
            Phase::Reduced => SAMPLE,
        }
    }

    fn measured(&mut self, at: Time) {
        let (departures, busy) = self.meter.take(at);
        let rate = f64::from(departures) / busy.as_secs_f64().max(1e-9);
        match self.phase {
            Phase::Full => {
                self.full_rate = rate;
                self.enter(
                    if self.reduced() < self.full { Phase::Reduced } else { Phase::Full },
                    at,
                );
            }
            Phase::Reduced => {
                self.compare(rate);
                self.enter(Phase::Full, at);
            }
        }
    }

    fn enter(&mut self, phase: Phase, at: Time) {
        self.phase = phase;
        self.limit = match phase {
            Phase::Full => self.full,
            Phase::Reduced => self.reduced(),
        };
        self.phase_since = at;
        self.counts_from = None;
        self.meter = Meter::default();
    }

    fn reduced(&self) -> u32 {
        let part = if self.idle >= IDLE_ROUNDS { IDLE_REDUCED } else { REDUCED };
        let part = (f64::from(self.full) * part) as u32;
        part.min(self.full.saturating_sub(1)).max(self.bounds.min)
    }

    /// What the last two measurements say of the places needed.
    fn compare(&mut self, reduced_rate: f64) {
        let (full, reduced) = (f64::from(self.full), f64::from(self.reduced()));
        self.handling = [full / self.full_rate, reduced / reduced_rate];
        let span = (full / reduced).ln();
        let elasticity = ((self.full_rate / reduced_rate).ln() / span).clamp(0.0, 1.5);
        let found = reduced * (span * elasticity).exp();
        self.take_up(found, elasticity);
    }

    /// More places are given soon and taken away slowly: too few cost throughput,
    /// a few too many only some milliseconds.
    fn take_up(&mut self, found: f64, elasticity: f64) {
        let (is_cramped, was_idle) = (elasticity > CRAMPED, self.idle >= IDLE_ROUNDS);
        let weight = if is_cramped || was_idle { QUICK_WEIGHT } else { WEIGHT };
        self.needed = (self.needed.ln() * (1.0 - weight) + found.ln() * weight).exp();
        self.idle = if elasticity < IDLE { self.idle + 1 } else { 0 };
        let is_off = is_cramped || (was_idle && self.idle > 0);
        self.settled = if is_off { 0 } else { self.settled + 1 };
        let full = (self.needed * HEADROOM).min(1e9) as u32;
        self.full = self.bounds.working(full);
    }
}

impl Bounds {
    /// The nearest limit to work with: one above the floor, so that there is
    /// something to compare with.
    fn working(self, limit: u32) -> u32 {
        limit.clamp(self.min.saturating_add(1).min(self.max), self.max)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    /// Places always full, in front of a pool of `places` of `handling` seconds
    /// each: departures are a Poisson stream of the rate that the lesser allows.
    fn after(
        bounds: Bounds,
        seed: u64,
        seconds: f64,
        pool: impl Fn(f64) -> (f64, f64),
    ) -> Vec<u32> {
        let (mut random, mut limiter) = (Pcg64::seed_from_u64(seed), Limiter::new(bounds));
        let (mut now, mut ticked) = (0.0, 0.0);
        let mut limits = Vec::new();
        while now < seconds {
            let (places, handling) = pool(now);
            let rate = f64::from(limiter.current()).min(places) / handling;
            now -= (1.0 - random.random::<f64>()).ln() / rate;
            let at = Time::from_nanos((now * 1e9) as u64);
            limiter.departed();
            let typical = Duration::from_secs_f64(handling);
            limiter.occupied(at, limiter.current(), typical);
            if now - ticked > 0.01 {
                ticked = now;
                limiter.tick(at, typical, true);
                limits.push(limiter.full);
            }
        }
        limits
    }

    const WIDE: Bounds = Bounds { min: 1, max: 1000 };

    #[test]
    fn it_settles_a_little_above_what_throughput_needs() {
        for (places, handling) in [(16.0, 0.010), (1.0, 0.001), (4.0, 0.002), (100.0, 0.050)] {
            for seed in 0..8 {
                let limits = after(WIDE, seed, 60.0, |_| (places, handling));
                let last = f64::from(*limits.last().unwrap());
                assert!(last >= places && last <= places * 2.0 + 8.0, "{places}: {last}");
            }
        }
    }

    #[test]
    fn a_dependency_that_slows_down_tenfold_does_not_collapse_it() {
        for seed in 0..8 {
            let slow = |now: f64| if (20.0..30.0).contains(&now) { 0.1 } else { 0.01 };
            let limits = after(WIDE, seed, 60.0, |now| (16.0, slow(now)));
            let found = limits.iter().skip(400);
            assert!(found.clone().all(|&limit| limit >= 12), "{:?}", found.min());
        }
    }

    #[test]
    fn it_does_not_grow_for_ever_under_lasting_overload() {
        for seed in 0..4 {
            let limits = after(WIDE, seed, 600.0, |_| (16.0, 0.01));
            assert!(
                limits.iter().skip(1000).all(|&limit| limit <= 40),
                "{:?}",
                limits.iter().max()
            );
        }
    }

    #[test]
    fn it_stays_within_its_bounds() {
        for seed in 0..20 {
            let bounds = Bounds { min: 5, max: 30 };
            let grows = after(bounds, seed, 20.0, |_| (500.0, 0.01));
            let shrinks = after(bounds, seed, 20.0, |_| (1.0, 0.001));
            assert!(grows.iter().chain(&shrinks).all(|limit| (5..=30).contains(limit)));
            assert!(grows.last() >= Some(&25));
        }
    }

    #[test]
    fn a_given_limit_is_kept() {
        let limits = after(Bounds { min: 16, max: 16 }, 1, 20.0, |_| (4.0, 0.01));
        assert!(limits.iter().all(|&limit| limit == 16));
    }
}
