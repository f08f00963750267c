//! Shards that have nobody, or must leave: they go first, and whatever it costs.
//!
//! The largest goes first, always to the least loaded executor (longest
//! processing time first: at worst a third above the best packing there is).
//! What is on a silent executor stays: its silence is still being waited out,
//! and moving early is how a shard comes to run twice.
//!
//! The Go server deals such shards out in turn whatever they carry; after a
//! death that makes the next hot host.

use std::cmp::Reverse;

use crate::load::Ordered;
use crate::placer::Placer;
use crate::plan::MoveReason;
use crate::view::{Candidacy, ShardIndex};

use super::draft::Draft;

/// Places them all and returns how many could not be: all or none.
pub(super) fn place(draft: &mut Draft<'_>) -> usize {
    let forced = forced_largest_first(draft);
    if forced.is_empty() || draft.open().is_empty() {
        return forced.len();
    }
    let mut placer = Placer::new(draft.policy.mode, draft.candidates(), draft.mean_shard_load());
    for (shard, reason) in forced {
        let view = draft.shard(shard);
        if let Some(to) = placer.place(view.key_hash, Some(draft.weight(&view))) {
            draft.shift(shard, to, reason);
        }
    }
    0
}

fn forced_largest_first(draft: &Draft<'_>) -> Vec<(ShardIndex, MoveReason)> {
    let mut forced: Vec<_> = draft.unowned().map(|shard| (shard, MoveReason::Unowned)).collect();
    for &executor in draft.to_empty() {
        if let Some(reason) = reason_to_empty(draft.executor(executor).candidacy) {
            let shards = draft.shards_of(executor).into_iter();
            let free = shards.filter(|&shard| !draft.shard(shard).fixed);
            forced.extend(free.map(|shard| (shard, reason)));
        }
    }
    forced.sort_by_cached_key(|&(index, _)| {
        let shard = draft.shard(index);
        (Reverse(Ordered(draft.weight(&shard))), shard.key_hash, index)
    });
    forced
}

/// Why the shards of such an executor must move; `None` if they need not.
fn reason_to_empty(candidacy: Candidacy) -> Option<MoveReason> {
    match candidacy {
        Candidacy::Drained => Some(MoveReason::HostDrained),
        Candidacy::Leaving => Some(MoveReason::ExecutorLeaving),
        Candidacy::Open | Candidacy::Silent => None,
    }
}
