//! The level that can be attained, from the sums of hosts and only so many of the
//! largest shards as pin one.

use std::collections::{BTreeMap, BinaryHeap};

use crate::ledger::ByLoad;
use crate::load::Ordered;
use crate::measures::{Bound, lower_bound_from};
use crate::standing::Standing;

use super::Draft;

impl Draft<'_> {
    /// The least that is possible for the shards of open executors.
    pub(in super::super) fn bound(&mut self) -> Bound {
        self.standing();
        self.bound_of(&self.standing)
    }

    /// The least that is possible for the shards of hosts that stand like that.
    pub(in super::super) fn bound_of(&self, standing: &Standing) -> Bound {
        let largest = Descending::new(self, standing.largest_first());
        lower_bound_from(largest, standing.load(), standing.capacities(), standing.capacity())
    }

    /// The loads of what a host has, but for the largest, in descending order.
    fn further_loads(&self, rank: u32) -> Loads<'_> {
        let executor = self.open()[rank as usize];
        let account = &self.ledger.accounts()[executor.0 as usize];
        match account.by_load().filter(|_| !self.is_touched(executor)) {
            Some(by_load) => Loads::Kept(Box::new(ByLoad::loads(by_load).skip(1))),
            None => {
                let shards = self.shards_of(executor).into_iter();
                let mut loads: Vec<f64> = shards.map(|shard| self.weight_of(shard)).collect();
                loads.sort_unstable_by(f64::total_cmp);
                loads.pop();
                Loads::Sorted(loads)
            }
        }
    }
}

/// Loads, the largest first.
enum Loads<'a> {
    Kept(Box<dyn Iterator<Item = f64> + 'a>),
    /// From the end.
    Sorted(Vec<f64>),
}

impl Iterator for Loads<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        match self {
            Self::Kept(loads) => loads.next(),
            Self::Sorted(loads) => loads.pop(),
        }
    }
}

/// The loads of all shards of some hosts, largest first. Looks at the shards of a
/// host only when its largest is not enough, and at a host only when it is its turn.
struct Descending<'a, I: Iterator> {
    draft: &'a Draft<'a>,
    /// The largest shard of each host whose turn has not come.
    hosts: std::iter::Peekable<I>,
    /// The next one of hosts of which some were given, by rank.
    next: BinaryHeap<(Ordered, u32)>,
    /// By rank: what follows.
    opened: BTreeMap<u32, Loads<'a>>,
    /// Whose next one is not in the heap yet.
    pending: Option<u32>,
}

impl<'a, I: Iterator<Item = (f64, u32)>> Descending<'a, I> {
    fn new(draft: &'a Draft<'a>, hosts: I) -> Self {
        let hosts = hosts.peekable();
        Self { draft, hosts, next: BinaryHeap::new(), opened: BTreeMap::new(), pending: None }
    }

    fn following(&mut self, rank: u32) -> Option<f64> {
        let draft = self.draft;
        self.opened.entry(rank).or_insert_with(|| draft.further_loads(rank)).next()
    }
}

impl<I: Iterator<Item = (f64, u32)>> Iterator for Descending<'_, I> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        if let Some(rank) = self.pending.take()
            && let Some(load) = self.following(rank)
        {
            self.next.push((Ordered(load), rank));
        }
        let of_opened = self.next.peek().map(|(load, _)| load.0);
        let is_first = |&(largest, _): &(f64, u32)| of_opened.is_none_or(|load| largest >= load);
        let (load, rank) = match self.hosts.next_if(is_first) {
            Some(first) => first,
            None => self.next.pop().map(|(load, rank)| (load.0, rank))?,
        };
        self.pending = Some(rank);
        Some(load)
    }
}
