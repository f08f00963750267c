//! The true reason why a hot host keeps what it has.
//!
//! Asked once, at the end: what is the first thing that would have to change for
//! a shard to leave? A host that is above the level only as far as noise
//! explains, or by one shard that is too large for any, is named as well: it is
//! as it should be, and whoever wonders about it should find out why.

use std::cmp::Reverse;

use crate::load::Ordered;
use crate::plan::{HeldHost, HoldReason};
use crate::view::{ShardIndex, ShardView};

use super::super::draft::Draft;
use super::super::verdict::{Verdict, held};
use super::field::Field;
use super::settle::Budget;

/// `field` is as its draft is.
pub(super) fn verdict(field: &Field<'_>, budget: &Budget) -> Verdict {
    let judge = Judge { draft: field.draft(), field, budget };
    let mut held: Vec<(u32, HeldHost)> =
        field.suspects().filter_map(|rank| Some((rank, judge.judge(rank)?))).collect();
    held.sort_unstable_by_key(|&(rank, host)| (Reverse(Ordered(host.load)), rank));
    let held = held.into_iter().map(|(_, host)| host).collect();
    Verdict::on(held).or_budget(budget.was_refused())
}

struct Judge<'a> {
    draft: &'a Draft<'a>,
    field: &'a Field<'a>,
    budget: &'a Budget,
}

impl Judge<'_> {
    fn judge(&self, rank: u32) -> Option<HeldHost> {
        let reason = self.reason(rank)?;
        let held = held(self.draft, self.field.executor(rank), reason);
        Some(HeldHost { share: Some(self.field.level), ..held })
    }

    fn reason(&self, rank: u32) -> Option<HoldReason> {
        let (field, tolerance) = (self.field, self.field.tolerance(rank));
        let above = |level| field.host(rank).fullness() - level > tolerance;
        if field.is_hot(rank) {
            Some(self.reason_for_hot(rank))
        } else if field.heat(rank) > field.least_tolerance() {
            Some(HoldReason::Noise)
        } else if above(field.level) {
            Some(HoldReason::ShardTooLarge)
        } else {
            let waits = field.awaits_newcomers() && above(field.final_level());
            waits.then_some(HoldReason::Newcomer)
        }
    }

    fn reason_for_hot(&self, rank: u32) -> HoldReason {
        if self.budget.was_refused_to(rank) {
            HoldReason::Budget
        } else if let Some(reason) = self.reason_of_shards(rank) {
            reason
        } else if self.field.awaits_newcomers() {
            HoldReason::Newcomer
        } else if self.any_step_gains(rank) {
            HoldReason::NotWorthIt
        } else {
            HoldReason::NoShardFits
        }
    }

    /// If what would help may not leave now.
    fn reason_of_shards(&self, rank: u32) -> Option<HoldReason> {
        let shards = self.field.shards(rank);
        let any = |is: &dyn Fn(ShardIndex, &ShardView) -> bool| {
            shards.iter().any(|&index| is(index, &self.draft.shard(index)))
        };
        let helps = |shard: &ShardView| self.field.helps(rank, self.draft.weight(shard));
        if !any(&|_, shard| shard.load.is_some_and(|load| load.smoothed > 0.0)) {
            Some(HoldReason::Unmeasured)
        } else if any(&|index, shard| {
            !shard.fixed && self.draft.is_cooling(index, shard) && helps(shard)
        }) {
            Some(HoldReason::Cooldown)
        } else if any(&|_, shard| shard.fixed && helps(shard)) {
            Some(HoldReason::InHandover)
        } else {
            None
        }
    }

    fn any_step_gains(&self, rank: u32) -> bool {
        self.field.shelf(rank).books().iter().any(|book| self.field.helps(rank, book.load))
    }
}
