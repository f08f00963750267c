//! What may count as a load, decided once, at the edge.
//!
//! One NaN in one report would make every comparison of its host meaningless
//! from then on, through the moving average. So a report is checked before it
//! is smoothed, and nothing behind this check looks again.

use std::cmp::Ordering;

use thiserror::Error;

/// The largest load of one shard. Planning squares sums of loads: from here
/// there is room for 10^50 shards before anything overflows.
pub const MAX_LOAD: f64 = 1e100;

/// Why a reported load was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum LoadError {
    #[error("load is not a number: report a finite value from 0 up, or leave the shard out")]
    NotANumber,
    #[error("load {0} is not finite: report a finite value from 0 up, or leave the shard out")]
    Infinite(f64),
    #[error("load {0} is negative: report a finite value from 0 up, with 0 for an idle shard")]
    Negative(f64),
    #[error("load {0:e} is above {MAX_LOAD:e}: report it in a larger unit")]
    TooLarge(f64),
}

/// The load itself if it may be counted: from 0, which says "idle", to
/// [`MAX_LOAD`].
pub fn check_load(load: f64) -> Result<f64, LoadError> {
    match load {
        load if load.is_nan() => Err(LoadError::NotANumber),
        load if load.is_infinite() => Err(LoadError::Infinite(load)),
        load if load < 0.0 => Err(LoadError::Negative(load)),
        load if load > MAX_LOAD => Err(LoadError::TooLarge(load)),
        // Takes the sign from a negative zero, which would sort below zero.
        load => Ok(load.abs()),
    }
}

/// A load that can be sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ordered(pub(crate) f64);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_shard_and_a_busy_one_are_accepted() {
        assert_eq!(check_load(0.0), Ok(0.0));
        assert_eq!(check_load(12.5), Ok(12.5));
        assert_eq!(check_load(MAX_LOAD), Ok(MAX_LOAD));
    }

    #[test]
    fn a_negative_zero_is_an_idle_shard() {
        assert!(check_load(-0.0).is_ok_and(f64::is_sign_positive));
    }

    #[test]
    fn what_would_poison_a_sum_is_refused() {
        assert_eq!(check_load(f64::NAN), Err(LoadError::NotANumber));
        assert_eq!(check_load(f64::INFINITY), Err(LoadError::Infinite(f64::INFINITY)));
        assert_eq!(check_load(f64::NEG_INFINITY), Err(LoadError::Infinite(f64::NEG_INFINITY)));
        assert_eq!(check_load(-1.0), Err(LoadError::Negative(-1.0)));
        assert_eq!(check_load(f64::MAX), Err(LoadError::TooLarge(f64::MAX)));
    }

    #[test]
    fn a_refusal_says_what_to_report_instead() {
        assert_eq!(
            LoadError::Negative(-1.0).to_string(),
            "load -1 is negative: report a finite value from 0 up, with 0 for an idle shard"
        );
        assert_eq!(
            LoadError::TooLarge(1e101).to_string(),
            "load 1e101 is above 1e100: report it in a larger unit"
        );
    }
}
