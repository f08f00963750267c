//! How even a placement is.

mod bound;
mod exact;
mod sum;
mod twofold;

pub use bound::{Bound, lower_bound, lower_bound_over};
pub use sum::Sum;

pub(crate) use bound::lower_bound_from;
pub(crate) use exact::ExactSum;
pub(crate) use twofold::Twofold;

/// Host loads in figures, per unit of capacity. All zero if there is no host.
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
    /// The figures of these loads of hosts with the capacity of 1; `measured` is
    /// taken as it is.
    pub fn of(loads: &[f64], measured: f64) -> Self {
        let hosts: Vec<_> = loads.iter().map(|&load| (load, 1.0)).collect();
        Self::per_capacity(&hosts, measured)
    }

    /// The figures of hosts with these loads and capacities; `measured` is taken
    /// as it is. A host counts as often as its capacity says.
    pub fn per_capacity(hosts: &[(f64, f64)], measured: f64) -> Self {
        if hosts.is_empty() {
            return Self::default();
        }
        let mean = mean(hosts);
        let per_unit = hosts.iter().map(|(load, capacity)| load / capacity);
        Self {
            hosts: hosts.len(),
            mean,
            max: per_unit.clone().fold(f64::NEG_INFINITY, f64::max),
            min: per_unit.fold(f64::INFINITY, f64::min),
            spread: spread(hosts, mean),
            measured,
        }
    }

    /// The largest host load over the mean; 1 if there is no load.
    pub fn max_over_mean(&self) -> f64 {
        if self.mean > 0.0 { self.max / self.mean } else { 1.0 }
    }
}

fn mean(hosts: &[(f64, f64)]) -> f64 {
    total(hosts.iter().map(|(load, _)| *load)) / total(hosts.iter().map(|(_, capacity)| *capacity))
}

/// Population standard deviation over the mean; 0 if there is no load.
fn spread(hosts: &[(f64, f64)], mean: f64) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    let square = |(load, capacity): &(f64, f64)| capacity * (load / capacity / mean - 1.0).powi(2);
    let capacity = total(hosts.iter().map(|(_, capacity)| *capacity));
    (total(hosts.iter().map(square)) / capacity).sqrt()
}

fn total(parts: impl Iterator<Item = f64>) -> f64 {
    parts.collect::<Sum>().value()
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
