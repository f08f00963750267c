//! Where one more shard goes.
//!
//! New and orphaned shards come one by one, by the thousand, and must not cost a
//! look at all the others. The placer keeps the executors in order, counts what
//! it hands out, and forgets the shards. Refuses to move anything that has an
//! owner: that is for [`crate::planner`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use crate::load::Ordered;
use crate::policy::Mode;
use crate::ring::Ring;
use crate::view::ExecutorIndex;

/// An executor that may be given shards.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub index: ExecutorIndex,
    /// Breaks ties, and places it on the ring.
    pub id: Arc<str>,
    pub tally: Tally,
    /// As in [`ExecutorView::capacity`](crate::view::ExecutorView::capacity).
    pub capacity: f64,
}

/// What an executor carries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// The sum over its shards; one that has not been measured counts as the
    /// mean of those that have.
    pub load: f64,
    pub shards: usize,
}

/// Hands shards to executors: by the ring in [`Mode::Ring`], otherwise to the
/// executor with the least load, then the fewest shards, then the lowest id. In
/// [`Mode::Adaptive`] load and shards are those per unit of capacity.
/// `O(log executors)` a shard.
#[derive(Clone, Debug)]
pub struct Placer {
    choice: Choice,
}

#[derive(Clone, Debug)]
enum Choice {
    Ring(Ring),
    Least(Least),
}

#[derive(Clone, Debug)]
struct Least {
    queue: BinaryHeap<Reverse<Entry>>,
    mean_shard_load: f64,
}

/// Fields in the order in which they decide.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Entry {
    /// Both per unit of capacity.
    load: Ordered,
    shards: Ordered,
    id: Arc<str>,
    index: ExecutorIndex,
    capacity: Ordered,
}

impl Placer {
    /// A placer over these executors, all of them open. A shard that nobody
    /// has measured counts as `mean_shard_load`, the mean over the measured
    /// ones. If that is 0, nothing carries any load that is known: then the
    /// loads in the tallies are ignored and the counts decide.
    pub fn new(
        mode: Mode,
        executors: impl IntoIterator<Item = Candidate>,
        mean_shard_load: f64,
    ) -> Self {
        let executors: Vec<Candidate> = executors.into_iter().collect();
        let choice = match mode {
            Mode::Ring => Choice::Ring(Ring::new(executors.iter().map(|e| (e.index, &*e.id)))),
            Mode::Naive | Mode::Greedy => {
                Choice::Least(Least::new(executors, mean_shard_load, |_| 1.0))
            }
            Mode::Adaptive => {
                Choice::Least(Least::new(executors, mean_shard_load, |capacity| capacity))
            }
        };
        Self { choice }
    }

    /// Who gets the shard with this [`key_hash`](crate::ring::key_hash);
    /// `None` if no executor is open. Its load counts from the next call on.
    pub fn place(&mut self, key_hash: u64, load: Option<f64>) -> Option<ExecutorIndex> {
        match &mut self.choice {
            Choice::Ring(ring) => ring.owner(key_hash),
            Choice::Least(least) => least.place(load),
        }
    }
}

impl Least {
    /// `size` says what an executor with that capacity counts as.
    fn new(executors: Vec<Candidate>, mean_shard_load: f64, size: fn(f64) -> f64) -> Self {
        let known = mean_shard_load > 0.0;
        let entry = |Candidate { index, id, tally, capacity }| {
            let capacity = size(capacity);
            let load = Ordered(if known { tally.load / capacity } else { 0.0 });
            let shards = Ordered(tally.shards as f64 / capacity);
            Reverse(Entry { load, shards, id, index, capacity: Ordered(capacity) })
        };
        Self { queue: executors.into_iter().map(entry).collect(), mean_shard_load }
    }

    fn place(&mut self, load: Option<f64>) -> Option<ExecutorIndex> {
        let mut least = self.queue.peek_mut()?;
        let capacity = least.0.capacity.0;
        least.0.load.0 += load.unwrap_or(self.mean_shard_load) / capacity;
        least.0.shards.0 += 1.0 / capacity;
        let index = least.0.index;
        // Sifts the changed entry down to its new place.
        drop::<PeekMut<'_, _>>(least);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::key_hash;

    fn candidates(tallies: &[(f64, usize)]) -> Vec<Candidate> {
        (0u32..)
            .zip(tallies)
            .map(|(index, &(load, shards))| candidate(index, load, shards))
            .collect()
    }

    fn candidate(index: u32, load: f64, shards: usize) -> Candidate {
        let id = format!("executor-{index}").into();
        let tally = Tally { load, shards };
        Candidate { index: ExecutorIndex(index), id, tally, capacity: 1.0 }
    }

    fn place_each(placer: &mut Placer, loads: &[Option<f64>]) -> Vec<u32> {
        loads.iter().filter_map(|&load| placer.place(0, load)).map(|index| index.0).collect()
    }

    #[test]
    fn nobody_open_means_nowhere() {
        for mode in Mode::ALL {
            assert_eq!(Placer::new(mode, [], 1.0).place(7, Some(1.0)), None);
        }
    }

    #[test]
    fn load_decides_before_count_and_count_before_id() {
        let by_load = candidates(&[(3.0, 1), (2.0, 9)]);
        assert_eq!(place_each(&mut Placer::new(Mode::Greedy, by_load, 1.0), &[None]), [1]);
        let by_count = candidates(&[(2.0, 3), (2.0, 2)]);
        assert_eq!(place_each(&mut Placer::new(Mode::Naive, by_count, 1.0), &[None]), [1]);
        let by_id = candidates(&[(2.0, 2), (2.0, 2)]);
        assert_eq!(place_each(&mut Placer::new(Mode::Greedy, by_id, 1.0), &[None]), [0]);
    }

    #[test]
    fn what_was_placed_counts_for_the_next() {
        let mut placer = Placer::new(Mode::Greedy, candidates(&[(0.0, 0), (4.0, 1)]), 2.0);
        assert_eq!(place_each(&mut placer, &[Some(5.0), None, Some(0.5), Some(1.0)]), [0, 1, 0, 0]);
    }

    #[test]
    fn counts_decide_while_no_load_is_known() {
        let mut placer = Placer::new(Mode::Greedy, candidates(&[(10.0, 2), (0.0, 0)]), 0.0);
        assert_eq!(place_each(&mut placer, &[None, None, Some(0.0), None]), [1, 1, 0, 1]);
    }

    #[test]
    fn twice_the_capacity_is_given_twice_as_much() {
        let mut hosts = candidates(&[(0.0, 0), (0.0, 0)]);
        hosts[1].capacity = 2.0;
        let mut placer = Placer::new(Mode::Adaptive, hosts, 1.0);
        assert_eq!(place_each(&mut placer, &[None; 6]), [0, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn the_ring_does_not_ask_for_loads() {
        let hash = key_hash("orders");
        let on_ring = |tallies: &[(f64, usize)]| {
            Placer::new(Mode::Ring, candidates(tallies), 1.0).place(hash, None)
        };
        assert_eq!(on_ring(&[(0.0, 0), (9.0, 9)]), on_ring(&[(9.0, 9), (0.0, 0)]));
    }
}
