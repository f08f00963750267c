//! How even a placement is.

mod bound;
mod sum;

pub use bound::{Bound, lower_bound};
pub use sum::Sum;

/// Host loads in figures. All zero if there is no host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    pub hosts: usize,
    pub mean: f64,
    pub max: f64,
    pub min: f64,
    /// Population standard deviation of host load over its mean.
    pub spread: f64,
    /// The part of shards whose load has been measured, 0 to 1.
    pub measured: f64,
}

impl Balance {
    /// The figures of these host loads; `measured` is taken as it is.
    pub fn of(loads: &[f64], measured: f64) -> Self {
        if loads.is_empty() {
            return Self::default();
        }
        let mean = mean(loads);
        Self {
            hosts: loads.len(),
            mean,
            max: loads.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            min: loads.iter().copied().fold(f64::INFINITY, f64::min),
            spread: spread(loads, mean),
            measured,
        }
    }

    /// The largest host load over the mean; 1 if there is no load.
    pub fn max_over_mean(&self) -> f64 {
        if self.mean > 0.0 { self.max / self.mean } else { 1.0 }
    }
}

fn mean(loads: &[f64]) -> f64 {
    loads.iter().copied().collect::<Sum>().value() / loads.len() as f64
}

/// Population standard deviation over the mean; 0 if there is no load.
fn spread(loads: &[f64], mean: f64) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    let squares: Sum = loads.iter().map(|load| (load / mean - 1.0).powi(2)).collect();
    (squares.value() / loads.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_is_all_zeroes_and_perfectly_even() {
        assert_eq!(Balance::of(&[], 1.0), Balance::default());
        assert_eq!(Balance::default().max_over_mean(), 1.0);
    }

    #[test]
    fn idle_hosts_are_even() {
        let idle = Balance::of(&[0.0, 0.0], 1.0);
        assert_eq!((idle.spread, idle.max_over_mean()), (0.0, 1.0));
    }

    #[test]
    fn the_spread_is_the_population_deviation_over_the_mean() {
        let balance = Balance::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], 0.5);
        assert_eq!((balance.mean, balance.max, balance.min), (5.0, 9.0, 2.0));
        assert!((balance.spread - 0.4).abs() < 1e-12);
        assert_eq!(balance.max_over_mean(), 1.8);
        assert_eq!(balance.measured, 0.5);
    }
}
