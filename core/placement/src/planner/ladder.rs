//! Open executors in order of load, kept while shards move.

use std::collections::BTreeSet;

use crate::load::Ordered;
use crate::view::ExecutorIndex;

use super::draft::Draft;

/// Equal loads are in order of id.
#[derive(Debug)]
pub(super) struct Ladder {
    rungs: BTreeSet<(Ordered, u32, ExecutorIndex)>,
    /// By executor: its place in the order of ids.
    ranks: Vec<u32>,
}

impl Ladder {
    pub(super) fn new(draft: &Draft<'_>) -> Self {
        let mut ranks = vec![u32::MAX; draft.executors().len()];
        for (rank, executor) in (0u32..).zip(draft.open()) {
            ranks[executor.0 as usize] = rank;
        }
        let rung = |&e: &ExecutorIndex| (Ordered(draft.load(e)), ranks[e.0 as usize], e);
        Self { rungs: draft.open().iter().map(rung).collect(), ranks }
    }

    /// The lowest id of those with the least load.
    pub(super) fn coldest(&self) -> Option<(ExecutorIndex, f64)> {
        self.rungs.first().map(|&(load, _, executor)| (executor, load.0))
    }

    /// From the most load down; of equal loads, the highest id first.
    pub(super) fn hottest_first(&self) -> impl Iterator<Item = (ExecutorIndex, f64)> {
        self.rungs.iter().rev().map(|&(load, _, executor)| (executor, load.0))
    }

    pub(super) fn hottest(&self) -> Option<(ExecutorIndex, f64)> {
        self.hottest_first().next()
    }

    /// Puts an executor where its load has brought it.
    pub(super) fn reorder(&mut self, executor: ExecutorIndex, from: f64, to: f64) {
        let rank = self.ranks[executor.0 as usize];
        self.rungs.remove(&(Ordered(from), rank, executor));
        self.rungs.insert((Ordered(to), rank, executor));
    }
}
