//! What hosts carry together, and how unevenly, while they change one by one.

use crate::measures::{ExactSum, Twofold};

use super::host::Host;

/// Sums over hosts, exact, so that they depend on the hosts there are alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    load: ExactSum,
    capacity: ExactSum,
    /// Of `load² / capacity`, each to some 32 digits.
    squares: ExactSum,
    pub(crate) shards: usize,
}

impl Sums {
    pub(crate) fn add(&mut self, host: &Host) {
        self.load.add(host.load);
        self.capacity.add(host.capacity);
        let Twofold { high, low } = square(host);
        self.squares.add(high);
        self.squares.add(low);
        self.shards += host.shards;
    }

    /// Takes out what was added.
    pub(crate) fn take(&mut self, host: &Host) {
        self.load.take(host.load);
        self.capacity.take(host.capacity);
        let Twofold { high, low } = square(host);
        self.squares.take(high);
        self.squares.take(low);
        self.shards -= host.shards;
    }

    pub(crate) fn load(&self) -> f64 {
        self.load.value()
    }

    pub(crate) fn capacity(&self) -> f64 {
        self.capacity.value()
    }

    /// Per unit of capacity.
    pub(crate) fn mean(&self) -> f64 {
        self.load() / self.capacity()
    }

    /// Population standard deviation of fullness over the mean, by capacity; 0 if
    /// there is no load. `Σ load²/capacity − (Σ load)²/Σ capacity` is a small
    /// difference of large numbers, hence the digits.
    pub(crate) fn spread(&self) -> f64 {
        let (load, capacity) = (self.load.twofold(), self.capacity.twofold());
        let even = load * load / capacity;
        let uneven = (self.squares.twofold() - even).value() / even.value();
        // Not for no load at all, nor for one whose square is none.
        if uneven.is_finite() { uneven.max(0.0).sqrt() } else { 0.0 }
    }
}

fn square(host: &Host) -> Twofold {
    Twofold::product(host.load, host.load) / Twofold::from(host.capacity)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::measures::Balance;

    fn hosts() -> impl Strategy<Value = Vec<Host>> {
        let host = (0.0..1e6, 0.01..100.0, 0..9usize);
        let host = host.prop_map(|(load, capacity, shards)| Host {
            load,
            capacity,
            shards,
            ..Host::default()
        });
        vec(host, 1..30)
    }

    fn sums(hosts: &[Host]) -> Sums {
        let mut sums = Sums::default();
        hosts.iter().for_each(|host| sums.add(host));
        sums
    }

    proptest! {
        #[test]
        fn sums_give_the_spread_that_hosts_have(hosts in hosts()) {
            let each: Vec<_> = hosts.iter().map(|host| (host.load, host.capacity)).collect();
            let Balance { mean, spread, .. } = Balance::per_capacity(&each, 1.0);
            let sums = sums(&hosts);
            prop_assert!((sums.mean() - mean).abs() <= 1e-14 * mean);
            prop_assert!((sums.spread() - spread).abs() <= 1e-12 * (1.0 + spread));
        }

        #[test]
        fn what_was_taken_out_leaves_no_trace(before in hosts(), more in hosts()) {
            let mut kept = sums(&before);
            more.iter().for_each(|host| kept.add(host));
            more.iter().rev().for_each(|host| kept.take(host));
            prop_assert_eq!(kept, sums(&before));
        }
    }

    #[test]
    fn equal_hosts_have_no_spread_whatever_they_carry() {
        for load in [0.0, 0.1, 1.0 / 3.0, 1e97] {
            let host = Host { load, capacity: 0.7, ..Host::default() };
            assert!(sums(&[host; 7]).spread() < 1e-15, "{load}");
        }
    }

    #[test]
    fn a_spread_of_a_millionth_is_seen() {
        let host = |load| Host { load, capacity: 1.0, ..Host::default() };
        let spread = sums(&[host(1e9 + 1e3), host(1e9 - 1e3)]).spread();
        assert!((spread - 1e-6).abs() < 1e-18, "{spread:e}");
    }
}
