//! Decides, before anything is sent, when each request is meant to start, whose it
//! is and where it goes. Pure and seeded: two schedules of one plan are equal.
//!
//! Open-loop: no answer, however late, changes a start. For a rate that varies the
//! random arrivals are an exact inhomogeneous Poisson process by change of time:
//! unit-rate gaps in the number of expected arrivals, mapped back through the
//! profile (Cinlar, Introduction to Stochastic Processes, 1975, section 4.7).

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::phase::{Cursor, Profile};
use crate::share::Shares;

/// How requests are spread within the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Exponential gaps, as independent callers make them.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
}

/// One request that is meant to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The intended start, counted from the start of the run.
    pub at: Duration,
    /// Index of the phase.
    pub step: usize,
    /// Index of the caller.
    pub caller: usize,
    /// Index of the path.
    pub path: usize,
}

/// Who and where, by shares.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Shares of the callers.
    pub callers: Shares,
    /// Shares of the paths.
    pub paths: Shares,
}

/// All arrivals of a profile, in order.
#[derive(Debug)]
pub struct Schedule<'a> {
    cursor: Cursor<'a>,
    arrivals: Arrivals,
    mix: &'a Mix,
    /// Expected arrivals up to the next one.
    reached: f64,
    /// Apart from `picks`, so that other shares leave the starts as they were.
    gaps: Pcg64Mcg,
    picks: Pcg64Mcg,
}

impl<'a> Schedule<'a> {
    /// A schedule from its beginning.
    pub fn new(profile: &'a Profile, arrivals: Arrivals, mix: &'a Mix, seed: u64) -> Self {
        let mut gaps = Pcg64Mcg::seed_from_u64(seed);
        let reached = match arrivals {
            Arrivals::Poisson => exponential(&mut gaps),
            Arrivals::Constant => 0.0,
        };
        let picks = Pcg64Mcg::seed_from_u64(!seed);
        Self { cursor: profile.cursor(), arrivals, mix, reached, gaps, picks }
    }

    fn gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Poisson => exponential(&mut self.gaps),
            Arrivals::Constant => 1.0,
        }
    }
}

impl Iterator for Schedule<'_> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let (at, step) = self.cursor.advance_to(self.reached)?;
        self.reached += self.gap();
        let caller = self.mix.callers.pick(self.picks.random());
        let path = self.mix.paths.pick(self.picks.random());
        Some(Arrival { at, step, caller, path })
    }
}

/// An exponentially distributed number with mean 1, by inversion.
fn exponential(random: &mut Pcg64Mcg) -> f64 {
    let point: f64 = random.random();
    -(1.0 - point).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::phase::Phase;

    fn mix(callers: &[f64]) -> Mix {
        Mix { callers: Shares::new(callers), paths: Shares::new(&[1.0]) }
    }

    fn steady(rate: f64, seconds: u64) -> Profile {
        Profile::new(vec![Phase::steady(rate, Duration::from_secs(seconds))])
    }

    #[test]
    fn constant_arrivals_are_as_many_as_the_rate_says_and_evenly_spaced() {
        let (profile, mix) = (steady(250.0, 4), mix(&[1.0]));
        let all: Vec<_> = Schedule::new(&profile, Arrivals::Constant, &mix, 1).collect();
        assert_eq!(all.len(), 1000);
        assert!(all.windows(2).all(|pair| {
            let gap = (pair[1].at - pair[0].at).as_nanos();
            (3_999_999..=4_000_001).contains(&gap)
        }));
    }

    #[test]
    fn random_gaps_have_the_mean_and_the_spread_of_a_poisson_process() {
        let (profile, mix) = (steady(1000.0, 100), mix(&[1.0]));
        let all: Vec<_> = Schedule::new(&profile, Arrivals::Poisson, &mix, 7).collect();
        let gaps: Vec<f64> =
            all.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64() * 1000.0).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn a_ramp_offers_in_each_tenth_what_its_line_says() {
        let phase: Phase = "0:2000:10s".parse().unwrap();
        let (profile, mix) = (Profile::new(vec![phase]), mix(&[1.0]));
        let mut by_second = [0_f64; 10];
        for arrival in Schedule::new(&profile, Arrivals::Poisson, &mix, 3) {
            by_second[arrival.at.as_secs() as usize] += 1.0;
        }
        for (second, count) in by_second.iter().enumerate() {
            let expected = 200.0 * second as f64 + 100.0;
            assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{second}: {count}");
        }
    }

    #[test]
    fn steps_are_numbered_and_start_on_time() {
        let lasts = Duration::from_secs(2);
        let profile = Profile::new([10.0, 20.0, 40.0].map(|r| Phase::steady(r, lasts)).to_vec());
        let mix = mix(&[1.0]);
        let all: Vec<_> = Schedule::new(&profile, Arrivals::Constant, &mix, 1).collect();
        let counts = [0, 1, 2].map(|step| all.iter().filter(|a| a.step == step).count());
        assert_eq!(counts, [20, 40, 80]);
        assert!(all.iter().all(|a| a.at.as_secs() as usize / 2 == a.step));
    }

    #[test]
    fn shares_are_met_within_one_point() {
        let (profile, mix) = (steady(10_000.0, 10), mix(&[50.0, 30.0, 15.0, 5.0]));
        let mut counts = [0_f64; 4];
        for arrival in Schedule::new(&profile, Arrivals::Poisson, &mix, 11) {
            counts[arrival.caller] += 1.0;
        }
        let total: f64 = counts.iter().sum();
        for (count, share) in counts.iter().zip([0.5, 0.3, 0.15, 0.05]) {
            assert!((count / total - share).abs() < 0.01, "{count} of {total}");
        }
    }

    #[test]
    fn other_shares_leave_the_starts_as_they_were() {
        let profile = steady(100.0, 5);
        let (even, skewed) = (mix(&[1.0, 1.0]), mix(&[9.0, 1.0]));
        let starts = |mix| -> Vec<Duration> {
            Schedule::new(&profile, Arrivals::Poisson, mix, 5).map(|a| a.at).collect()
        };
        assert_eq!(starts(&even), starts(&skewed));
    }

    proptest! {
        #[test]
        fn any_schedule_is_in_order_within_its_time_and_repeatable(
            rates in prop::collection::vec(0.0..2000.0_f64, 2..5), seed: u64,
        ) {
            let phase = |pair: &[f64]| Phase {
                from: pair[0], to: pair[1], lasts: Duration::from_millis(700),
            };
            let profile = Profile::new(rates.windows(2).map(phase).collect());
            let mix = mix(&[1.0, 3.0]);
            let all: Vec<_> = Schedule::new(&profile, Arrivals::Poisson, &mix, seed).collect();
            let again: Vec<_> = Schedule::new(&profile, Arrivals::Poisson, &mix, seed).collect();
            prop_assert_eq!(&all, &again);
            prop_assert!(all.is_sorted_by_key(|a| (a.at, a.step)));
            prop_assert!(all.iter().all(|a| a.at <= profile.lasts()));
        }
    }
}
