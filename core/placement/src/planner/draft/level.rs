//! The level that can be attained, from the sums of hosts and only so many of the
//! largest shards as pin one.

use std::collections::{BTreeMap, BinaryHeap};

use crate::load::Ordered;
use crate::measures::{Bound, Sum, lower_bound_from};
use crate::view::ExecutorIndex;

use super::Draft;

impl Draft<'_> {
    /// The least that is possible for the shards of open executors.
    pub(in super::super) fn bound(&self) -> Bound {
        self.bound_over(self.open())
    }

    /// The least that is possible for the shards that these have, on these.
    pub(in super::super) fn bound_over(&self, hosts: &[ExecutorIndex]) -> Bound {
        let mut capacities: Vec<f64> = hosts.iter().map(|&host| self.capacity(host)).collect();
        capacities.sort_unstable_by(|a, b| b.total_cmp(a));
        let total: Sum = hosts.iter().map(|&host| self.load(host)).collect();
        lower_bound_from(Descending::new(self, hosts), total.value(), &capacities)
    }
}

/// The loads of all shards of some hosts, largest first. Looks at the shards of a
/// host only when its largest is not enough.
struct Descending<'a> {
    draft: &'a Draft<'a>,
    hosts: &'a [ExecutorIndex],
    /// The largest of each host that has not been given, by place in `hosts`.
    next: BinaryHeap<(Ordered, usize)>,
    /// By place in `hosts`: what is left, smallest first.
    opened: BTreeMap<usize, Vec<f64>>,
    /// Whose next one is not in the heap yet.
    pending: Option<usize>,
}

impl<'a> Descending<'a> {
    fn new(draft: &'a Draft<'a>, hosts: &'a [ExecutorIndex]) -> Self {
        let largest = |(place, &host): (usize, &ExecutorIndex)| {
            let has_any = draft.tally(host).shards > 0;
            has_any.then(|| (Ordered(draft.carried(host).largest), place))
        };
        let next: Vec<_> = hosts.iter().enumerate().filter_map(largest).collect();
        Self { draft, hosts, next: next.into(), opened: BTreeMap::new(), pending: None }
    }

    fn following(&mut self, place: usize) -> Option<f64> {
        let (draft, host) = (self.draft, self.hosts[place]);
        let rest = self.opened.entry(place).or_insert_with(|| {
            let shards = draft.shards_of(host).into_iter();
            let mut loads: Vec<f64> = shards.map(|shard| draft.weight_of(shard)).collect();
            loads.sort_unstable_by(f64::total_cmp);
            // Has been given.
            loads.pop();
            loads
        });
        rest.pop()
    }
}

impl Iterator for Descending<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        if let Some(place) = self.pending.take()
            && let Some(load) = self.following(place)
        {
            self.next.push((Ordered(load), place));
        }
        let (load, place) = self.next.pop()?;
        self.pending = Some(place);
        Some(load.0)
    }
}
