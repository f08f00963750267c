//! What is known of a load that is reported with noise: its level, how noisy its
//! reports are, and therefore how far off the level may be.
//!
//! The level is the exponential moving average of [`Smoothed`](super::Smoothed),
//! the plain mean until one time constant is full. The variance of the reports
//! around it is West's incremental one (D. H. D. West, "Updating mean and variance
//! estimates", CACM 22(9), 1979) with exponential weights. The variance of the
//! level is that times the sum of the squared weights.
//!
//! An average is late by a time constant, which is right for noise and wrong for
//! a shard that doubles for good. So a cumulative sum of residuals (E. S. Page,
//! "Continuous inspection schemes", Biometrika 41, 1954) runs beside it: once
//! several reports in a row are far off on the same side, the level is their
//! mean, and what was before is forgotten. A single report, however odd, counts
//! as a few deviations and is not enough.

mod excursion;

use std::num::NonZeroU16;
use std::time::Duration;

use crate::coarse::Coarse;
use crate::time::Time;
use crate::view::Load;

use super::weight;
use excursion::Excursion;

/// The least deviation of a report, as a part of the level: a load that is quiet
/// but for rounding must not see steps in it.
const LEAST_DEVIATION: f64 = 0.05;

/// The deviation of a report, as a part of the level, that is taken for granted
/// before any was seen; it counts as one report. A load is not called quiet
/// because it has been reported once. With this, noise of 30 % is judged rightly
/// from the first report on.
const UNKNOWN_DEVIATION: f64 = 0.45;

/// For so many reports after a step a level is new.
const NEW: u8 = 60;

/// What the variance of a new level counts for. A planner asks for many deviations
/// before it moves anything, since it looks at every host all day and noise gets
/// another chance with every time constant. A step happens once: half as many
/// deviations will do, and what has doubled is put right four times as soon.
const DOUBT_OF_NEW: f64 = 0.25;

/// As a part of the level: a change of less than that is none.
const AT_REST: f64 = 1e-3;

/// A load as far as its reports tell. There is one for every shard, so all but the
/// level is kept to six digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The level, in the unit of the reports.
    value: f64,
    updated_at: Time,
    /// Of one report around the level, as far as it was seen.
    seen_variance: Coarse,
    /// The sum of the squared weights of the reports in the level: 1 for one
    /// report, 1/n for the mean of n.
    squared_weights: f32,
    /// Of the excursion, see there.
    score: f32,
    excursion_mean: Coarse,
    excursion_variance: Coarse,
    excursion_reports: u8,
    /// Reports since the last step, as far as they are counted.
    since_step: u8,
    /// How many reports there were.
    reports: NonZeroU16,
}

impl Estimate {
    /// What one report tells: a level, and nothing of its noise.
    pub fn first(now: Time, report: f64) -> Self {
        Self {
            value: report,
            updated_at: now,
            seen_variance: Coarse::NOTHING,
            squared_weights: 1.0,
            score: 0.0,
            excursion_mean: Coarse::NOTHING,
            excursion_variance: Coarse::NOTHING,
            excursion_reports: 0,
            since_step: u8::MAX,
            reports: NonZeroU16::MIN,
        }
    }

    /// A level known from elsewhere, such as a checkpoint, with as much behind it
    /// as an average that has run for long: [`Estimate::after`] moves it slowly.
    pub fn restored(now: Time, level: f64) -> Self {
        Self { squared_weights: 0.0, ..Self::first(now, level) }
    }

    /// What is known once `report` has come at `now`: the report alone if nothing
    /// was known, if `time_constant` is zero, or if the last report lies ahead of
    /// `now`. A second report at the same moment changes nothing.
    pub fn after(previous: Option<Self>, now: Time, report: f64, time_constant: Duration) -> Self {
        let Some(last) = previous.filter(|last| !time_constant.is_zero() && now >= last.updated_at)
        else {
            return Self::first(now, report);
        };
        let elapsed = now - last.updated_at;
        if elapsed.is_zero() {
            return last;
        }
        let deviations = last.deviations(report);
        let variance = last.ordinary_variance();
        let excursion = last.excursion().after(report, deviations, variance);
        if excursion.is_step() {
            return last.stepped(now, excursion);
        }
        last.averaged(now, report, weight(elapsed, time_constant)).during(excursion)
    }

    /// As if it had been looked at then, and what it says had been found so.
    pub fn standing_until(self, time: Time) -> Self {
        Self { updated_at: self.updated_at.max(time), ..self }
    }

    /// Whether more of the same report would change nothing that matters: the level
    /// and its deviation are within a thousandth of it.
    pub fn is_at_rest(&self, report: f64) -> bool {
        let close = AT_REST * report;
        let variance = self.level_variance();
        self.score == 0.0 && (self.value - report).abs() <= close && variance <= close * close
    }

    /// The level.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// When the last report came.
    pub fn updated_at(&self) -> Time {
        self.updated_at
    }

    /// As a planner wants it; `reported` is the last report.
    pub fn load(&self, reported: f64) -> Load {
        let doubt = if self.since_step < NEW { DOUBT_OF_NEW } else { 1.0 };
        Load { smoothed: self.value, reported, variance: doubt * self.level_variance() }
    }

    fn level_variance(&self) -> f64 {
        self.variance() * f64::from(self.squared_weights)
    }

    fn averaged(self, now: Time, report: f64, alpha: f64) -> Self {
        // 1/(n+1) as long as the level is a plain mean of n reports.
        let squared_weights = f64::from(self.squared_weights);
        let alpha = alpha.max(squared_weights / (1.0 + squared_weights));
        let residual = report - self.value;
        let rest = 1.0 - alpha;
        Self {
            value: self.value + alpha * residual,
            seen_variance: Coarse::of(
                rest * (self.seen_variance.value() + alpha * residual * residual),
            ),
            reports: self.reports.saturating_add(1),
            squared_weights: (rest * rest * squared_weights + alpha * alpha) as f32,
            since_step: self.since_step.saturating_add(1),
            updated_at: now,
            ..self
        }
    }

    /// The load is now what it was during the excursion, as noisy for its size as
    /// before.
    fn stepped(self, now: Time, excursion: Excursion) -> Self {
        let scale = if self.value > 0.0 { excursion.mean / self.value } else { 1.0 };
        Self {
            value: excursion.mean,
            seen_variance: Coarse::of(excursion.variance * scale.clamp(0.1, 10.0).powi(2)),
            reports: self.reports.saturating_add(1),
            squared_weights: 1.0 / f32::from(excursion.reports),
            since_step: 0,
            updated_at: now,
            ..self
        }
        .during(Excursion::default())
    }

    fn excursion(&self) -> Excursion {
        Excursion {
            score: self.score.into(),
            mean: self.excursion_mean.value(),
            reports: self.excursion_reports,
            variance: self.excursion_variance.value(),
        }
    }

    fn during(self, excursion: Excursion) -> Self {
        Self {
            score: excursion.score as f32,
            excursion_mean: Coarse::of(excursion.mean),
            excursion_variance: Coarse::of(excursion.variance),
            excursion_reports: excursion.reports,
            ..self
        }
    }

    /// Of one report, with what was taken for granted.
    fn variance(&self) -> f64 {
        let reports = f64::from(self.reports.get());
        let unknown = (UNKNOWN_DEVIATION * self.value).powi(2);
        (reports * self.seen_variance.value() + unknown) / (reports + 1.0)
    }

    /// The variance of a report when nothing is out of the ordinary.
    fn ordinary_variance(&self) -> f64 {
        if self.excursion_reports > 0 { self.excursion_variance.value() } else { self.variance() }
    }

    /// How many deviations a report is off the level.
    fn deviations(&self, report: f64) -> f64 {
        let least = (self.value * LEAST_DEVIATION).max(f64::MIN_POSITIVE);
        let deviation = self.ordinary_variance().sqrt().max(least);
        (report - self.value) / deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_pcg::Pcg64Mcg;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Time {
        Time::from_millis(seconds * 1000)
    }

    /// A report a second.
    fn estimate(reports: impl IntoIterator<Item = f64>) -> Estimate {
        let each = |last, (second, report)| Some(Estimate::after(last, at(second), report, MINUTE));
        (1..).zip(reports).fold(None, each).unwrap()
    }

    /// Normal noise of 30 % around 100.
    fn noisy(seed: u64, count: usize) -> Vec<f64> {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        (0..count).map(|_| 100.0 + 30.0 * rng.sample::<f64, _>(StandardNormal)).collect()
    }

    #[test]
    fn the_first_reports_are_averaged_as_equals() {
        let three = estimate([3.0, 6.0, 9.0]);
        assert!((three.value() - 6.0).abs() < 1e-12);
        // Variance of a report 6, and 2.7 squared as a fourth; of a mean of three
        // of them a third.
        assert!((three.load(9.0).variance - (3.0 * 6.0 + 7.29) / 4.0 / 3.0).abs() < 1e-5);
    }

    #[test]
    fn what_is_known_of_a_load_takes_forty_bytes() {
        assert_eq!(size_of::<Option<Estimate>>(), 40);
    }

    #[test]
    fn a_load_that_stands_comes_to_rest_within_half_an_hour() {
        let minutes = |count: usize| estimate(vec![7.0; count * 60]).is_at_rest(7.0);
        assert!(!minutes(5) && minutes(30));
        let stepped = vec![7.0; 1800].into_iter().chain([8.0]);
        assert!(!estimate(stepped).is_at_rest(8.0));
    }

    #[test]
    fn a_load_is_known_to_be_quiet_after_a_while() {
        let part = |reports| {
            let load = estimate(vec![7.0; reports]).load(7.0);
            assert_eq!(load.smoothed, 7.0);
            load.variance.sqrt() / load.smoothed
        };
        assert!(part(1) > 0.2 && part(60) < 0.008 && part(600) < 0.002);
    }

    #[test]
    fn the_variance_says_how_far_off_the_level_is() {
        let runs: Vec<Load> = (0..400).map(|seed| estimate(noisy(seed, 600)).load(0.0)).collect();
        let off: f64 = runs.iter().map(|load| (load.smoothed - 100.0).powi(2)).sum();
        let said: f64 = runs.iter().map(|load| load.variance).sum();
        assert!((0.8..1.25).contains(&(off / said)), "off by {off}, said {said}");
    }

    #[test]
    fn noise_of_thirty_percent_makes_no_step_in_a_day() {
        let reports = noisy(1, 86_400);
        let (mut last, mut second) = (Estimate::first(at(0), 100.0), 0);
        for report in reports {
            second += 1;
            let next = Estimate::after(Some(last), at(second), report, MINUTE);
            assert!(second < 300 || (next.value() - last.value()).abs() < 3.0, "at {second}");
            last = next;
        }
    }

    #[test]
    fn one_odd_report_is_no_step() {
        let mut reports = vec![100.0; 300];
        reports.push(100_000.0);
        reports.extend([100.0; 5]);
        let alpha = weight(Duration::from_secs(1), MINUTE);
        assert!(estimate(reports).value() < 100.0 + alpha * 100_000.0);
    }

    #[test]
    fn a_load_that_doubles_for_good_is_known_after_fourteen_reports() {
        for seed in 0..50 {
            let mut reports = noisy(seed, 400);
            reports.extend(noisy(seed + 1000, 14).into_iter().map(|report| 2.0 * report));
            let value = estimate(reports).value();
            assert!((150.0..260.0).contains(&value), "seed {seed}: {value}");
        }
    }

    #[test]
    fn a_quiet_load_that_doubles_is_known_exactly_after_four_reports() {
        let reports = std::iter::repeat_n(10.0, 100).chain([20.0; 4]);
        assert_eq!(estimate(reports).value(), 20.0);
    }

    #[test]
    fn a_load_that_ends_is_known_to_have_ended() {
        let reports = noisy(5, 300).into_iter().chain([0.0; 6]);
        assert!(estimate(reports).value() < 15.0);
    }

    #[test]
    fn a_restored_level_is_not_taken_for_one_report() {
        let restored = Estimate::restored(at(0), 100.0);
        let next = Estimate::after(Some(restored), at(1), 110.0, MINUTE);
        assert!((100.0..100.2).contains(&next.value()), "{next:?}");
    }

    #[test]
    fn what_comes_at_the_same_moment_or_from_before_is_no_average() {
        let last = Estimate::first(at(9), 8.0);
        assert_eq!(Estimate::after(Some(last), at(9), 50.0, MINUTE), last);
        let anew = Estimate::after(Some(last), at(1), 50.0, MINUTE);
        assert_eq!(anew, Estimate::first(at(1), 50.0));
        assert_eq!(
            Estimate::after(Some(last), at(10), 50.0, Duration::ZERO),
            Estimate::first(at(10), 50.0)
        );
    }
}
