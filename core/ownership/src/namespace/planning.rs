//! What the planner keeps of the namespace between cycles, and how it hears of what
//! changes.
//!
//! A shard that may look different to the planner is noted once, wherever it is
//! changed; the next cycle looks at those that were noted and at no others. A load
//! whose average is still on its way is noted again until it has arrived.
//!
//! Shards and executors have the same numbers here and in the ledger.

use std::collections::BTreeSet;

use plimsoll_placement::Ledger;
use plimsoll_placement::plan::{Plan, Scope};
use plimsoll_placement::policy::Policy;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, ExecutorView, ShardIndex, ShardView};

use super::Namespace;
use crate::executor::{Executor, Link};
use crate::ids::{ExecutorId, ShardId};
use crate::measured::Smoothing;
use crate::shard::{Next, Phase, Shard};

#[derive(Debug, Default)]
pub(super) struct Planning {
    /// `None` until the first cycle, and when another policy needs another one.
    ledger: Option<Ledger>,
    /// What to look at in the next cycle. A shard knows whether it is in here.
    news: Vec<ShardId>,
    /// Shards that were not simply owned when they were last looked at: others
    /// decide about them.
    unsettled: BTreeSet<ShardId>,
    /// How many shards the last cycle looked at.
    looked_at: usize,
    /// Whose sum is counted anew next.
    recount: usize,
}

impl Planning {
    /// A shard may look different from now on.
    pub(super) fn note(&mut self, id: ShardId, shard: &mut Shard) {
        if !std::mem::replace(&mut shard.is_noted, true) {
            self.news.push(id);
        }
    }

    /// A shard is no more.
    pub(super) fn forget(&mut self, id: ShardId) {
        self.unsettled.remove(&id);
        if let Some(ledger) = &mut self.ledger {
            ledger.remove_shard(ShardIndex(id.0));
        }
    }

    /// How many shards the last cycle looked at.
    pub(super) fn looked_at(&self) -> usize {
        self.looked_at
    }

    /// The plan for what has been caught up with; `None` if nothing ever was.
    pub(super) fn plan(&mut self, now: Time, scope: Scope) -> Option<Plan> {
        self.ledger.as_mut().map(|ledger| ledger.plan(now, scope))
    }
}

// === impl Namespace: what has changed ===

impl Namespace {
    /// Tells the ledger all that has changed since `last`, the cycle before.
    pub(super) fn catch_up(&mut self, now: Time, last: Option<Time>) {
        let policy = self.settings.policy;
        let known = self.planning.ledger.take().filter(|ledger| *ledger.policy() == policy);
        let all_is_new = known.is_none();
        let mut ledger = known.unwrap_or_else(|| Ledger::new(policy));
        ledger.set_all_moved_at(self.led_blindly_since);
        self.catch_up_with_executors(&mut ledger);
        let news = self.take_news(all_is_new);
        self.planning.looked_at = news.len();
        for id in news {
            self.advance_load(now, last, id);
            self.catch_up_with_shard(now, id, &mut ledger);
        }
        self.recount_one();
        self.planning.ledger = Some(ledger);
    }

    /// A ledger of everything, for a plan by another policy.
    pub(super) fn ledger_by(&self, now: Time, policy: Policy) -> Ledger {
        let mut ledger = Ledger::new(policy);
        ledger.set_all_moved_at(self.led_blindly_since);
        self.catch_up_with_executors(&mut ledger);
        for (slot, shard) in &self.shards {
            if let Some(seen) = self.see_shard(now, ShardId::of(slot), shard) {
                ledger.set_shard(ShardIndex(ShardId::of(slot).0), &seen);
            }
        }
        ledger
    }

    /// A shard may look different to the planner from now on.
    pub(super) fn note_for_planner(&mut self, id: ShardId) {
        if let Some(shard) = self.shards.get_mut(id.slot()) {
            self.planning.note(id, shard);
        }
    }

    fn take_news(&mut self, all_is_new: bool) -> Vec<ShardId> {
        let mut news = std::mem::take(&mut self.planning.news);
        if all_is_new {
            news = self.shards.iter().map(|(slot, _)| ShardId::of(slot)).collect();
        } else {
            news.extend(&self.planning.unsettled);
            news.extend(self.preparations.iter().map(|(id, _)| id));
        }
        news
    }

    fn catch_up_with_executors(&self, ledger: &mut Ledger) {
        for slot in 0..ledger.known_executors() {
            if !self.executors.contains(slot) {
                ledger.remove_executor(ExecutorIndex(ExecutorId::of(slot).0));
            }
        }
        for (slot, executor) in &self.executors {
            let index = ExecutorIndex(ExecutorId::of(slot).0);
            ledger.set_executor(index, self.see_executor(executor));
        }
    }

    fn catch_up_with_shard(&mut self, now: Time, id: ShardId, ledger: &mut Ledger) {
        let index = ShardIndex(id.0);
        let Some(shard) = self.shards.get(id.slot()) else { return self.planning.forget(id) };
        let seen = self.see_shard(now, id, shard);
        match seen {
            Some(seen) => ledger.set_shard(index, &seen),
            None => ledger.remove_shard(index),
        }
        if seen.is_some_and(|seen| seen.owner.is_some() && !seen.fixed) {
            self.planning.unsettled.remove(&id);
        } else {
            self.planning.unsettled.insert(id);
        }
    }

    /// Brings an average up to now and its owner's sum with it.
    fn advance_load(&mut self, now: Time, last: Option<Time>, id: ShardId) {
        let smoothing = Smoothing::of(&self.settings.policy);
        let Some(shard) = self.shards.get_mut(id.slot()) else { return };
        shard.is_noted = false;
        let owner = shard.owner.and_then(|owner| self.executors.get_mut(owner.slot()));
        let Some(owner) = owner else { return };
        let tells_changes = owner.link != Link::Unary;
        owner.load -= shard.smoothed();
        shard.advance(now, last, smoothing, tells_changes);
        owner.load += shard.smoothed();
        if shard.is_on_its_way(smoothing, tells_changes) {
            self.planning.note(id, shard);
        }
    }

    /// Sums drift a little with every addition, so one a cycle is made anew.
    fn recount_one(&mut self) {
        let slots = self.executors.capacity().max(1);
        self.planning.recount = (self.planning.recount + 1) % slots;
        if let Some(executor) = self.executors.get_mut(self.planning.recount) {
            let shards = executor.shards.iter().filter_map(|id| self.shards.get(id.slot()));
            executor.load = shards.map(Shard::smoothed).sum();
        }
    }

    fn see_executor(&self, executor: &Executor) -> ExecutorView {
        ExecutorView {
            id: executor.id.clone(),
            candidacy: executor.candidacy(),
            capacity: executor.capacity(&self.settings),
            opened_at: executor.opened_at,
        }
    }

    /// What the planner sees: shards in handover where they go, and nothing of those
    /// that are drained, done or failing.
    fn see_shard(&self, now: Time, id: ShardId, shard: &Shard) -> Option<ShardView> {
        let (at, fixed) = match shard.phase {
            Phase::Owned { .. } => match self.preparations.get(id) {
                Some(preparing) => (self.executor(preparing.to).map(|_| preparing.to), true),
                None => (shard.owner, false),
            },
            Phase::Granting | Phase::Revoking { next: Next::Anyone, .. } => (shard.owner, true),
            Phase::Revoking { next: Next::To(to, _), .. } => (self.executor(to).map(|_| to), true),
            Phase::Unowned if !shard.drained && !self.failures.contains_key(&id) => (None, false),
            Phase::Unowned | Phase::Releasing => return None,
            Phase::Revoking { next: Next::Release, .. } => return None,
        };
        let owner = at.filter(|owner| self.executor(*owner).is_some());
        if fixed && owner.is_none() {
            return None;
        }
        Some(ShardView {
            owner: owner.map(|owner| ExecutorIndex(owner.0)),
            load: shard.load_at(now, Smoothing::of(&self.settings.policy)),
            moved_at: shard.moved_at(),
            fixed,
            cost: self.move_costs.get(&id).copied().unwrap_or(1.0),
            ..ShardView::new(key_hash(&shard.key))
        })
    }
}
