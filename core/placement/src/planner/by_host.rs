//! The shards of each executor, found without a scan: one counting sort.

use crate::view::{ExecutorIndex, ShardIndex};

use super::draft::Draft;

#[derive(Debug)]
pub(super) struct ByHost {
    /// By executor: where its shards end; they start where those before end.
    ends: Vec<usize>,
    shards: Vec<ShardIndex>,
}

impl ByHost {
    /// As the draft has them now.
    pub(super) fn new(draft: &Draft<'_>) -> Self {
        let executors = (0u32..).map(ExecutorIndex).take(draft.view.executors.len());
        let mut ends: Vec<usize> = executors
            .scan(0, |start, executor| {
                let this = *start;
                *start += draft.tally(executor).shards;
                Some(this)
            })
            .collect();
        let mut shards = vec![ShardIndex(0); draft.owners().iter().flatten().count()];
        for (shard, owner) in (0u32..).map(ShardIndex).zip(draft.owners()) {
            if let Some(owner) = owner {
                let end = &mut ends[owner.0 as usize];
                shards[*end] = shard;
                *end += 1;
            }
        }
        Self { ends, shards }
    }

    pub(super) fn shards(&self, executor: ExecutorIndex) -> &[ShardIndex] {
        let place = executor.0 as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.shards[start..self.ends[place]]
    }
}
