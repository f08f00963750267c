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
use crate::view::{Candidacy, ShardIndex, ShardView};

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
        if let Some(to) = placer.place(view.key_hash, Some(draft.weight(view))) {
            draft.shift(shard, to, reason);
        }
    }
    0
}

fn forced_largest_first(draft: &Draft<'_>) -> Vec<(ShardIndex, MoveReason)> {
    let mut forced: Vec<_> = draft
        .shards()
        .filter_map(|(index, shard)| Some((index, shard, force_on(draft, shard)?)))
        .collect();
    forced.sort_by_key(|&(_, shard, _)| (Reverse(Ordered(draft.weight(shard))), shard.key_hash));
    forced.into_iter().map(|(index, _, reason)| (index, reason)).collect()
}

/// Why a shard must move; `None` if it need not, or cannot now.
fn force_on(draft: &Draft<'_>, shard: &ShardView) -> Option<MoveReason> {
    if shard.fixed {
        return None;
    }
    let Some(owner) = shard.owner else {
        return Some(MoveReason::Unowned);
    };
    match draft.view.executors[owner.0 as usize].candidacy {
        Candidacy::Drained => Some(MoveReason::HostDrained),
        Candidacy::Leaving => Some(MoveReason::ExecutorLeaving),
        Candidacy::Open | Candidacy::Silent => None,
    }
}
