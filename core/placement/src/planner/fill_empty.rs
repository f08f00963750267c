//! An executor that has nothing gets something at once.
//!
//! A new host would otherwise wait for the bands and the budget: at 1 % a cycle,
//! most of a minute during which the capacity that somebody added does nothing.
//! So this phase spends no budget and waits for no cooldown, as in the Go server
//! (step 8 of its pass). The Go server takes any shards in turn, as many as the
//! host with the fewest would leave each; one host with a single huge shard makes
//! that none. This takes from the most loaded host the shard that evens the two
//! out most while about that share is left to it, and stops once the new one has its
//! share of load or of shards.
//!
//! For the modes of the Go server: the ring says itself what a new executor gets,
//! and to the adaptive planner it is a cold host like any other.

use crate::plan::MoveReason;
use crate::policy::Mode;
use crate::view::{ExecutorIndex, ShardIndex};

use super::draft::Draft;
use super::gap::Gap;
use super::ladder::Ladder;
use super::shelf::Shelf;

pub(super) fn fill(draft: &mut Draft<'_>) {
    let (empty, full) = split(draft);
    if empty.is_empty() || full.is_empty() {
        return;
    }
    let enough = enough(draft);
    let mut filling = Filling { ladder: Ladder::new(draft), shelves: shelves(draft, &full) };
    for _ in 0..ceiling(draft, &full) {
        for &executor in &empty {
            if draft.load(executor) < enough {
                filling.give_one(draft, executor, enough);
            }
        }
    }
}

/// Open executors without shards, and with some.
fn split(draft: &Draft<'_>) -> (Vec<ExecutorIndex>, Vec<ExecutorIndex>) {
    draft.open().iter().partition(|&&executor| draft.tally(executor).shards == 0)
}

/// The load at which a new executor has its share.
fn enough(draft: &Draft<'_>) -> f64 {
    match draft.policy.mode {
        Mode::Greedy => draft.mean() * draft.policy.greedy.hysteresis_lower_band,
        Mode::Ring | Mode::Naive | Mode::Adaptive => draft.mean(),
    }
}

/// The most shards that one new executor is given: an equal share of all.
fn ceiling(draft: &Draft<'_>, full: &[ExecutorIndex]) -> usize {
    let shards: usize = full.iter().map(|&executor| draft.tally(executor).shards).sum();
    shards / draft.open().len()
}

/// By executor: what may be taken from it.
fn shelves(draft: &Draft<'_>, full: &[ExecutorIndex]) -> Vec<Shelf> {
    let mut shelves: Vec<Shelf> = draft.executors().iter().map(|_| Shelf::default()).collect();
    for &executor in full {
        let shards = draft.shards_of(executor).into_iter();
        let free = shards.filter(|&shard| draft.is_free(shard));
        shelves[executor.0 as usize] = Shelf::new(draft, free);
    }
    shelves
}

struct Filling {
    ladder: Ladder,
    shelves: Vec<Shelf>,
}

impl Filling {
    fn give_one(&mut self, draft: &mut Draft<'_>, to: ExecutorIndex, enough: f64) {
        let (cold, has_nothing) = (draft.load(to), draft.tally(to).shards == 0);
        // About what its host has above its share, and not more. If there is
        // none, one that makes its host cold is better than none at all.
        let spare = |hot: f64| Gap::between(hot, cold.max(2.0 * enough - hot));
        let taken = self.take(spare);
        let any = |hot: f64| Gap::between(hot, cold);
        let taken = taken.or_else(|| has_nothing.then(|| self.take(any)).flatten());
        if let Some((shard, from)) = taken {
            let before = [from, to].map(|executor| (executor, draft.load(executor)));
            draft.shift(shard, to, MoveReason::FillEmpty);
            for (executor, load) in before {
                self.ladder.reorder(executor, load, draft.load(executor));
            }
        }
    }

    /// From the most loaded host that has a shard which fits.
    fn take(&mut self, gap: impl Fn(f64) -> Gap) -> Option<(ShardIndex, ExecutorIndex)> {
        let Self { ladder, shelves } = self;
        ladder.hottest_first().find_map(|(from, hot)| {
            let shard = shelves[from.0 as usize].take_best(gap(hot))?;
            Some((shard, from))
        })
    }
}
