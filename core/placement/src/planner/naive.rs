//! One move a cycle: the hottest shard of the hottest host to the coldest.
//!
//! The Go server's default, kept as it is: it goes by the last report, knows no
//! cooldown, and looks at no other shard when the hottest does not fit. Here a
//! shard that nobody has reported counts as the mean, as everywhere, but is
//! never the one that moves.

use crate::load::Ordered;
use crate::plan::{HeldHost, HoldReason, MoveReason, StopReason};
use crate::view::{ExecutorIndex, ShardIndex, ShardView};

use super::draft::Draft;
use super::gap::Gap;
use super::verdict::{Verdict, held};

pub(super) fn balance(draft: &mut Draft<'_>) -> Verdict {
    if draft.open().len() < 2 {
        return Verdict::stopped(StopReason::TooFewExecutors);
    }
    if !draft.anything_measured() {
        return Verdict::stopped(StopReason::Unmeasured);
    }
    let Some(pair) = Pair::too_far_apart(draft) else {
        return Verdict::on(Vec::new());
    };
    match pair.shard_to_move(draft) {
        Ok(shard) => draft.shift(shard, pair.coldest, MoveReason::Balance),
        Err(reason) => return Verdict::on(vec![held(draft, pair.hottest, reason)]),
    }
    Verdict::on(still_hot(draft))
}

/// The hottest host, if the mode would take load from it.
pub(super) fn hot(draft: &Draft<'_>) -> Option<ExecutorIndex> {
    Pair::too_far_apart(draft).map(|pair| pair.hottest)
}

/// The hottest host after the one move there is in a cycle.
fn still_hot(draft: &Draft<'_>) -> Vec<HeldHost> {
    let Some(pair) = Pair::too_far_apart(draft) else {
        return Vec::new();
    };
    let reason = pair.shard_to_move(draft).err().unwrap_or(HoldReason::Budget);
    vec![held(draft, pair.hottest, reason)]
}

struct Pair {
    hottest: ExecutorIndex,
    coldest: ExecutorIndex,
}

impl Pair {
    /// The hottest and the coldest host, if they differ by the factor that is
    /// tolerated or more. Of equals, the lowest id.
    fn too_far_apart(draft: &Draft<'_>) -> Option<Self> {
        let load = |executor: ExecutorIndex| Ordered(draft.load(executor));
        let open = draft.open().iter().copied();
        let coldest = open.clone().min_by_key(|&executor| load(executor))?;
        let hottest = open.rev().max_by_key(|&executor| load(executor))?;
        let (low, high) = (draft.load(coldest), draft.load(hottest));
        let tolerated = low > 0.0 && high / low < draft.policy.naive.max_deviation;
        (high > low && !tolerated).then_some(Self { hottest, coldest })
    }

    /// The hottest shard, unless that would turn the pair around.
    fn shard_to_move(&self, draft: &Draft<'_>) -> Result<ShardIndex, HoldReason> {
        let (shard, load) = self.hottest_shard(draft)?;
        let gap = Gap::between(draft.load(self.hottest), draft.load(self.coldest));
        match load {
            0.0 => Err(HoldReason::Unmeasured),
            load if gap.fits(load) => Ok(shard),
            _ => Err(HoldReason::OverloadsTarget),
        }
    }

    fn hottest_shard(&self, draft: &Draft<'_>) -> Result<(ShardIndex, f64), HoldReason> {
        let shards = draft.shards_of(self.hottest).into_iter();
        let seen = shards.map(|index| (index, draft.shard(index)));
        let mut measured = seen.filter(|(_, shard)| shard.load.is_some()).peekable();
        if measured.peek().is_none() {
            return Err(HoldReason::Unmeasured);
        }
        let heat = |index, shard: &ShardView| (Ordered(draft.weight(shard)), shard.key_hash, index);
        measured
            .filter(|&(index, _)| draft.is_free(index))
            .max_by_key(|(index, shard)| heat(*index, shard))
            .map(|(index, shard)| (index, draft.weight(&shard)))
            .ok_or(HoldReason::InHandover)
    }
}
