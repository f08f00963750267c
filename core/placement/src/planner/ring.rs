//! Every shard to where the ring has it. No load, no budget, no cooldown: who
//! chose the ring wants its placement, which only membership can change.

use crate::plan::{MoveReason, StopReason};
use crate::ring::Ring;
use crate::view::{ExecutorIndex, ShardIndex, ShardView};

use super::draft::Draft;
use super::verdict::Verdict;

pub(super) fn follow(draft: &mut Draft<'_>) -> Verdict {
    if draft.open().is_empty() {
        return Verdict::stopped(StopReason::TooFewExecutors);
    }
    for (shard, to) in misplaced(draft) {
        draft.shift(shard, to, MoveReason::Ring);
    }
    Verdict::stopped(StopReason::Balanced)
}

/// Shards of open executors that are not where the ring has them, in the order
/// of the ring.
fn misplaced(draft: &Draft<'_>) -> Vec<(ShardIndex, ExecutorIndex)> {
    let executors = draft.executors();
    let ring = Ring::new(draft.open().iter().map(|&e| (e, &*executors[e.0 as usize].id)));
    let is_open = |owner: ExecutorIndex| executors[owner.0 as usize].candidacy.is_open();
    let misplaced = |(index, shard): (ShardIndex, ShardView)| {
        let owner = draft.owner(index).filter(|&owner| is_open(owner))?;
        let to = ring.owner(shard.key_hash)?;
        (owner != to && draft.is_free(index)).then_some((index, to))
    };
    let mut moves: Vec<_> = draft.shards().filter_map(misplaced).collect();
    moves.sort_by_key(|&(index, _)| draft.shard(index).key_hash);
    moves
}
