//! How open hosts stand to each other: kept in order while they change one by one,
//! so that the hottest, the coldest, the largest shards and all sums are at hand
//! without a look at the others.
//!
//! A host is known by its rank, its place in the order of ids. What is here follows
//! from the hosts' figures alone, whatever they once were.

mod host;
mod rungs;
mod sums;
mod tolerance;
mod trial;

use std::collections::BTreeSet;

use crate::measures::Balance;

pub(crate) use host::Host;
pub(crate) use rungs::Rungs;
use sums::Sums;
pub(crate) use tolerance::Tolerance;
pub(crate) use trial::Trial;

/// Below this mean the squares of loads begin to vanish, and hosts are looked at one
/// by one.
const LEAST_MEAN: f64 = 1e-120;

/// Open hosts in every order that is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    tolerance: Tolerance,
    /// By rank.
    hosts: Vec<Host>,
    /// Ranks that are left out for now: in no order and in no sum.
    left_out: BTreeSet<u32>,
    by_fullness: Rungs,
    by_peak: Rungs,
    by_largest: Rungs,
    by_capacity: Rungs,
    /// By the level from which on they are cold.
    by_coldness: Rungs,
    sums: Sums,
}

impl Standing {
    /// Hosts by rank.
    pub(crate) fn of(tolerance: Tolerance, hosts: Vec<Host>) -> Self {
        let by = |figure: &dyn Fn(&Host) -> f64| Rungs::of(&hosts, figure);
        let mut sums = Sums::default();
        hosts.iter().for_each(|host| sums.add(host));
        Self {
            by_fullness: by(&Host::fullness),
            by_peak: by(&Host::peak),
            by_largest: by(&|host| host.largest),
            by_capacity: by(&|host| host.capacity),
            by_coldness: by(&|host| tolerance.cold_above(host)),
            left_out: BTreeSet::new(),
            tolerance,
            hosts,
            sums,
        }
    }

    /// These have other figures now, each named once. None may be left out.
    pub(crate) fn set_all(&mut self, changes: impl ExactSizeIterator<Item = (u32, Host)>) {
        let mut changed = Vec::with_capacity(changes.len());
        for (rank, host) in changes {
            let before = std::mem::replace(&mut self.hosts[rank as usize], host);
            if before != host {
                self.sums.take(&before);
                self.sums.add(&host);
                changed.push((rank, before));
            }
        }
        let (tolerance, hosts) = (self.tolerance, &self.hosts);
        let follow = |rungs: &mut Rungs, figure: &dyn Fn(&Host) -> f64| {
            rungs.follow(&changed, hosts, figure);
        };
        follow(&mut self.by_fullness, &Host::fullness);
        follow(&mut self.by_peak, &Host::peak);
        follow(&mut self.by_largest, &|host| host.largest);
        follow(&mut self.by_capacity, &|host| host.capacity);
        follow(&mut self.by_coldness, &|host| tolerance.cold_above(host));
    }

    /// As if it were not there.
    pub(crate) fn leave_out(&mut self, rank: u32) {
        let host = self.hosts[rank as usize];
        if self.left_out.insert(rank) {
            self.sums.take(&host);
            self.by_fullness.remove(host.fullness(), rank);
            self.by_peak.remove(host.peak(), rank);
            self.by_largest.remove(host.largest, rank);
            self.by_capacity.remove(host.capacity, rank);
            self.by_coldness.remove(self.tolerance.cold_above(&host), rank);
        }
    }

    /// Those that were left out are there again.
    pub(crate) fn take_in_all(&mut self) {
        for rank in std::mem::take(&mut self.left_out) {
            let host = self.hosts[rank as usize];
            self.sums.add(&host);
            self.by_fullness.insert(host.fullness(), rank);
            self.by_peak.insert(host.peak(), rank);
            self.by_largest.insert(host.largest, rank);
            self.by_capacity.insert(host.capacity, rank);
            self.by_coldness.insert(self.tolerance.cold_above(&host), rank);
        }
    }

    /// Whether it is there and not left out.
    pub(crate) fn is_in(&self, rank: u32) -> bool {
        (rank as usize) < self.hosts.len() && !self.left_out.contains(&rank)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.hosts.len() - self.left_out.len()
    }

    /// How many shards they have.
    pub(crate) fn shards(&self) -> usize {
        self.sums.shards
    }

    /// What they carry together.
    pub(crate) fn load(&self) -> f64 {
        self.sums.load()
    }

    /// What they can carry together.
    pub(crate) fn capacity(&self) -> f64 {
        self.sums.capacity()
    }

    /// `measured` is taken as it is.
    pub(crate) fn balance(&self, measured: f64) -> Balance {
        let (Some(min), Some(max)) = (self.by_fullness.least(), self.by_fullness.most()) else {
            return Balance::default();
        };
        let mean = self.sums.mean();
        if mean < LEAST_MEAN {
            let there = self.by_fullness.ascending().map(|(_, rank)| self.hosts[rank as usize]);
            let there: Vec<_> = there.map(|host| (host.load, host.capacity)).collect();
            return Balance::per_capacity(&there, measured);
        }
        let (hosts, spread) = (self.count(), self.sums.spread());
        Balance { hosts, mean, max, min, spread, measured }
    }

    /// The largest shard of each, and whose it is, the largest first.
    pub(crate) fn largest_first(&self) -> impl Iterator<Item = (f64, u32)> {
        self.by_largest.descending()
    }

    /// Capacities, the largest first.
    pub(crate) fn capacities(&self) -> impl ExactSizeIterator<Item = f64> {
        self.by_capacity.descending().map(|(capacity, _)| capacity)
    }

    /// Whether any of them is too far below that level.
    pub(crate) fn is_anyone_cold(&self, level: f64) -> bool {
        self.by_coldness.least().is_some_and(|cold_above| cold_above < level)
    }

    /// Those whose largest shard alone is above the level.
    fn pinned(&self, level: f64) -> impl Iterator<Item = u32> {
        self.by_peak.descending().take_while(move |&(peak, _)| peak > level).map(|(_, rank)| rank)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    pub(super) fn any_host() -> impl Strategy<Value = Host> {
        let some = prop_oneof![Just(0.0), Just(5.0), 0.0..10.0];
        (some, 0.0..1.0, 0..9usize, 0.0..0.1, prop_oneof![Just(1.0), 0.5..2.0]).prop_map(
            |(load, part, shards, variance, capacity)| Host {
                capacity,
                load,
                shards,
                variance,
                largest: part * load,
                largest_variance: 0.0,
            },
        )
    }

    pub(super) fn standing(hosts: Vec<Host>) -> Standing {
        Standing::of(Tolerance::of(&Default::default()), hosts)
    }

    proptest! {
        #[test]
        fn one_that_was_kept_is_as_one_made_anew(
            hosts in vec(any_host(), 12),
            changes in vec(btree_map(0..12u32, any_host(), 0..5), 0..6),
        ) {
            let (mut kept, mut now) = (standing(hosts.clone()), hosts);
            for changes in changes {
                for (&rank, &host) in &changes {
                    now[rank as usize] = host;
                }
                kept.set_all(changes.into_iter());
                prop_assert_eq!(&kept, &standing(now.clone()));
            }
        }

        #[test]
        fn who_is_left_out_is_in_nothing_and_comes_back(
            hosts in vec(any_host(), 1..9),
            out in vec(0..8u32, 0..5),
        ) {
            let whole = standing(hosts.clone());
            let mut part = whole.clone();
            for rank in out.into_iter().filter(|&rank| (rank as usize) < hosts.len()) {
                part.leave_out(rank);
            }
            let there: Vec<Host> =
                (0..).zip(&hosts).filter(|&(rank, _)| part.is_in(rank)).map(|(_, it)| *it).collect();
            let alone = standing(there);
            prop_assert_eq!(part.balance(1.0), alone.balance(1.0));
            prop_assert_eq!(part.count(), alone.count());
            prop_assert!(part.capacities().eq(alone.capacities()));
            prop_assert!(part.largest_first().map(|it| it.0).eq(alone.largest_first().map(|it| it.0)));
            part.take_in_all();
            prop_assert_eq!(part, whole);
        }

        #[test]
        fn the_balance_is_that_of_the_hosts(
            hosts in vec(any_host(), 1..9),
            unit in prop_oneof![Just(1.0), Just(1e-300), Just(1e99)],
        ) {
            let scaled = |host: &Host| Host { load: host.load * unit, ..*host };
            let hosts: Vec<Host> = hosts.iter().map(scaled).collect();
            let each: Vec<_> = hosts.iter().map(|host| (host.load, host.capacity)).collect();
            let (seen, found) = (standing(hosts).balance(1.0), Balance::per_capacity(&each, 1.0));
            prop_assert!((seen.spread - found.spread).abs() < 1e-12, "{:?} {:?}", seen, found);
            prop_assert!((seen.mean - found.mean).abs() <= 1e-14 * found.mean);
            prop_assert_eq!((seen.min, seen.max), (found.min, found.max));
        }

        #[test]
        fn the_first_that_gets_cold_is_known(hosts in vec(any_host(), 1..9), level in 0.1..10.0) {
            let standing = standing(hosts.clone());
            let is_cold = |host: &Host| standing.tolerance.cold_above(host) < level;
            prop_assert_eq!(standing.is_anyone_cold(level), hosts.iter().any(is_cold));
        }
    }
}
