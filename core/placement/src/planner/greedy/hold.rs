//! The true reason why a hot host keeps what it has.
//!
//! Asked once, at the end of a pass, of the hosts that are still hot: which is
//! the first thing that would have to change for a shard to leave?

use crate::plan::HoldReason;
use crate::view::ShardIndex;

use super::super::draft::Draft;
use super::super::gap::Gap;
use super::{is_cooling, is_eligible, is_worth_a_move};

/// Why the host with these shards is left alone; `gap` is that to the coldest
/// host, if it may take load.
pub(super) fn reason(draft: &Draft<'_>, shards: &[ShardIndex], gap: Option<Gap>) -> HoldReason {
    let worth = |&shard: &ShardIndex| is_worth_a_move(&draft.shard(shard));
    let worth: Vec<ShardIndex> = shards.iter().copied().filter(worth).collect();
    if worth.is_empty() {
        return HoldReason::Unmeasured;
    }
    let Some(gap) = gap else {
        return HoldReason::NoColdHost;
    };
    let fits = |&shard: &ShardIndex| gap.fits(draft.weight_of(shard));
    let fitting: Vec<ShardIndex> = worth.into_iter().filter(fits).collect();
    reason_for_fitting(draft, &fitting)
}

/// Why none of the shards that would help has left. One that could go at once
/// was only stopped by the budget.
fn reason_for_fitting(draft: &Draft<'_>, fitting: &[ShardIndex]) -> HoldReason {
    let any =
        |is: fn(&Draft<'_>, ShardIndex) -> bool| fitting.iter().any(|&shard| is(draft, shard));
    if any(is_eligible) {
        HoldReason::Budget
    } else if any(has_just_moved) {
        HoldReason::Cooldown
    } else if any(|draft, shard| draft.shard(shard).fixed) {
        HoldReason::InHandover
    } else {
        HoldReason::NoShardFits
    }
}

/// In an earlier cycle, or in this one.
fn has_just_moved(draft: &Draft<'_>, shard: ShardIndex) -> bool {
    let view = draft.shard(shard);
    !view.fixed && (draft.is_moved(shard) || is_cooling(draft, &view))
}
