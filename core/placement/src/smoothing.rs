//! The exponential moving average that keeps one odd report from moving a shard.
//!
//! `alpha = 1 - exp(-dt/tau)`, `smoothed = (1 - alpha) * previous + alpha * load`:
//! the weight of a report depends on the time it stands for and not on how often
//! reports come. After one time constant, 63 % of a step has arrived.
//!
//! [`Estimate`] also says how noisy the reports are, and follows a step at once.
//!
//! Refuses to judge what a load may be: see [`crate::load::check_load`].

mod estimate;

use std::time::Duration;

use crate::time::Time;

pub use estimate::Estimate;

/// A moving average and the moment of its last report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothed {
    /// In the unit of the reports.
    pub value: f64,
    pub updated_at: Time,
}

impl Smoothed {
    /// The average once `load` has been reported at `now`. The report alone
    /// counts if there is none before it, if `time_constant` is zero, or if
    /// the last report lies ahead of `now`.
    pub fn after(previous: Option<Self>, now: Time, load: f64, time_constant: Duration) -> Self {
        let value = match previous {
            Some(last) if !time_constant.is_zero() && now >= last.updated_at => {
                let alpha = weight(now - last.updated_at, time_constant);
                (1.0 - alpha) * last.value + alpha * load
            }
            _ => load,
        };
        Self { value, updated_at: now }
    }
}

/// The weight, 0 to 1, of a report that stands for the last `elapsed`.
fn weight(elapsed: Duration, time_constant: Duration) -> f64 {
    -(-elapsed.as_secs_f64() / time_constant.as_secs_f64()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Time {
        Time::from_millis(seconds * 1000)
    }

    fn last(value: f64, seconds: u64) -> Option<Smoothed> {
        Some(Smoothed { value, updated_at: at(seconds) })
    }

    #[test]
    fn the_first_report_is_taken_as_it_is() {
        let first = Smoothed::after(None, at(5), 8.0, MINUTE);
        assert_eq!(first, Smoothed { value: 8.0, updated_at: at(5) });
    }

    #[test]
    fn a_step_has_arrived_by_63_percent_after_one_time_constant() {
        let stepped = Smoothed::after(last(0.0, 0), at(60), 100.0, MINUTE);
        assert!((stepped.value - 63.212).abs() < 0.001, "{}", stepped.value);
    }

    #[test]
    fn two_short_steps_weigh_as_much_as_a_long_one() {
        let half = Smoothed::after(last(10.0, 0), at(30), 50.0, MINUTE);
        let twice = Smoothed::after(Some(half), at(60), 50.0, MINUTE);
        let once = Smoothed::after(last(10.0, 0), at(60), 50.0, MINUTE);
        assert!((twice.value - once.value).abs() < 1e-9);
    }

    #[test]
    fn a_second_report_at_the_same_moment_weighs_nothing() {
        assert_eq!(Smoothed::after(last(10.0, 7), at(7), 50.0, MINUTE).value, 10.0);
    }

    #[test]
    fn without_a_time_constant_nothing_is_smoothed() {
        assert_eq!(Smoothed::after(last(10.0, 0), at(1), 50.0, Duration::ZERO).value, 50.0);
    }

    #[test]
    fn a_report_from_before_the_last_one_starts_anew() {
        let older = Smoothed::after(last(10.0, 9), at(1), 50.0, MINUTE);
        assert_eq!(older, Smoothed { value: 50.0, updated_at: at(1) });
    }
}
