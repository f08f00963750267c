//! Hosts in order of how far they are above a level, while a plan tries out what
//! moving shards would do. Whatever was tried is taken back in the end.
//!
//! Those that no shard pins are in order of fullness whatever the level is, so that
//! order is kept; the pinned ones are few and put in order for this level.

use std::iter;

use crate::load::Ordered;
use crate::sparse::Sparse;

use super::Standing;
use super::host::Host;
use super::rungs::{ANEW, Rungs};
use super::tolerance::Tolerance;

#[derive(Debug)]
pub(crate) struct Trial {
    /// Its hosts, and its order by fullness, which has none that are pinned, follow
    /// what is tried. The rest is as it was.
    standing: Standing,
    level: f64,
    /// By heat.
    pinned: Rungs,
    /// Of hosts about which something was tried.
    before: Sparse<Host>,
}

impl Trial {
    /// `room` must be empty.
    pub(crate) fn new(mut standing: Standing, level: f64, room: Sparse<Host>) -> Self {
        let pinned: Vec<u32> = standing.pinned(level).collect();
        let heat = |&rank: &u32| (standing.hosts[rank as usize].heat(level), rank);
        let by_heat = pinned.iter().map(heat).collect();
        for rank in pinned {
            let fullness = standing.hosts[rank as usize].fullness();
            standing.by_fullness.remove(fullness, rank);
        }
        Self { standing, level, pinned: by_heat, before: room }
    }

    /// All as it was, and the room.
    pub(crate) fn end(mut self) -> (Standing, Sparse<Host>) {
        if self.before.len() * ANEW > self.standing.hosts.len() {
            self.restore_all();
        } else {
            self.restore_each();
        }
        (self.standing, self.before)
    }

    fn restore_all(&mut self) {
        let standing = &mut self.standing;
        for (rank, host) in self.before.drain() {
            standing.hosts[rank as usize] = host;
        }
        let all = standing.hosts.iter().map(Host::fullness).zip(0..);
        standing.by_fullness = all.filter(|(_, rank)| !standing.left_out.contains(rank)).collect();
    }

    fn restore_each(&mut self) {
        let mut before = std::mem::take(&mut self.before);
        for (rank, host) in before.drain() {
            self.unlist(rank);
            self.standing.hosts[rank as usize] = host;
            self.standing.by_fullness.insert(host.fullness(), rank);
        }
        self.before = before;
        for (_, rank) in self.pinned.ascending() {
            let fullness = self.standing.hosts[rank as usize].fullness();
            self.standing.by_fullness.insert(fullness, rank);
        }
    }

    /// What if it were so?
    pub(crate) fn change(&mut self, rank: u32, host: Host) {
        let before = *self.host(rank);
        self.before.get_or_insert_with(rank, || before);
        self.unlist(rank);
        self.standing.hosts[rank as usize] = host;
        match host.is_pinned(self.level) {
            true => self.pinned.insert(host.heat(self.level), rank),
            false => self.standing.by_fullness.insert(host.fullness(), rank),
        }
    }

    fn unlist(&mut self, rank: u32) {
        let host = self.standing.hosts[rank as usize];
        match host.is_pinned(self.level) {
            true => self.pinned.remove(host.heat(self.level), rank),
            false => self.standing.by_fullness.remove(host.fullness(), rank),
        }
    }

    pub(crate) fn tolerance(&self) -> Tolerance {
        self.standing.tolerance
    }

    pub(crate) fn host(&self, rank: u32) -> &Host {
        &self.standing.hosts[rank as usize]
    }

    pub(crate) fn heat(&self, rank: u32) -> f64 {
        self.host(rank).heat(self.level)
    }

    pub(crate) fn is_in(&self, rank: u32) -> bool {
        self.standing.is_in(rank)
    }

    /// Whether any host was too cold before anything was tried.
    pub(crate) fn was_anyone_cold(&self) -> bool {
        self.standing.is_anyone_cold(self.level)
    }

    /// Those whose largest shard alone is above the level.
    pub(crate) fn pinned(&self) -> impl Iterator<Item = u32> {
        self.pinned.ascending().map(|(_, rank)| rank)
    }

    /// The others, from the fullest down.
    pub(crate) fn fullest_first(&self) -> impl Iterator<Item = (f64, u32)> {
        self.standing.by_fullness.descending()
    }

    /// From the hottest down, with their heat; of equals, the highest rank first.
    pub(crate) fn hottest_first(&self) -> impl Iterator<Item = (f64, u32)> {
        let level = self.level;
        let others = self.fullest_first().map(move |(fullness, rank)| (fullness - level, rank));
        merged(self.pinned.descending(), others, |a, b| key(a) > key(b))
    }

    /// From the coldest up, with their heat; of equals, the lowest rank first.
    pub(crate) fn coldest_first(&self) -> impl Iterator<Item = (f64, u32)> {
        let level = self.level;
        let others = self.standing.by_fullness.ascending();
        let others = others.map(move |(fullness, rank)| (fullness - level, rank));
        merged(self.pinned.ascending(), others, |a, b| key(a) < key(b))
    }
}

fn key(&(heat, rank): &(f64, u32)) -> (Ordered, u32) {
    (Ordered(heat), rank)
}

/// Two in order as one.
fn merged<T>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
    is_first: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if is_first(a, b) => one.next(),
        (_, Some(_)) => other.next(),
        (_, None) => one.next(),
    })
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::tests::{any_host, standing};
    use super::*;

    proptest! {
        #[test]
        fn what_is_tried_is_in_order_and_taken_back(
            hosts in vec(any_host(), 12),
            tried in vec((0..12u32, any_host()), 0..20),
            level in 0.0..8.0,
            left_out in proptest::option::of(0..12u32),
        ) {
            let mut before = standing(hosts.clone());
            left_out.into_iter().for_each(|rank| before.leave_out(rank));
            let (mut trial, mut now) = (Trial::new(before.clone(), level, Sparse::default()), hosts);
            for (rank, host) in tried.into_iter().filter(|(rank, _)| left_out != Some(*rank)) {
                trial.change(rank, host);
                now[rank as usize] = host;
            }
            let there = (0..).zip(&now).filter(|(rank, _)| left_out != Some(*rank));
            let mut order: Vec<_> =
                there.map(|(rank, host)| (Ordered(host.heat(level)), rank)).collect();
            order.sort();
            let heat = |(heat, rank)| (Ordered(heat), rank);
            // Of two that rounding gives the same heat, the fuller one counts as hotter.
            prop_assert!(trial.coldest_first().map(|it| heat(it).0).eq(order.iter().map(|it| it.0)));
            order.sort_by_key(|&key| Reverse(key));
            prop_assert!(trial.hottest_first().map(|it| heat(it).0).eq(order.iter().map(|it| it.0)));
            let pinned = order.iter().filter(|(_, rank)| now[*rank as usize].is_pinned(level));
            prop_assert_eq!(trial.pinned().count(), pinned.count());
            prop_assert_eq!(trial.end().0, before);
        }
    }
}
