//! The cycle: every period the planner looks for imbalance, and its moves become
//! revocations.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::plan::{Move, Plan, Scope};
use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, ExecutorView, ShardView, View};

use super::Namespace;
use crate::action::RevokeReason;
use crate::executor::{Executor, Link};
use crate::ids::{ExecutorId, ShardId};
use crate::measured::Smoothing;
use crate::shard::{Because, Next, Phase, Shard};

/// Between two cycles, for each shard: some eight times what planning costs at a
/// million shards. Above the default period from 250,000 shards on.
const PAUSE_A_SHARD: Duration = Duration::from_micros(4);

/// The last cycle, for explanations.
#[derive(Debug, Default)]
pub(super) struct LastCycle {
    pub(super) at: Option<Time>,
    pub(super) planned: Option<Planned>,
}

/// A plan with the names of what its indices stand for.
#[derive(Clone, Debug)]
pub struct Planned {
    pub mode: Mode,
    pub plan: Plan,
    /// By `ExecutorIndex`.
    pub executors: Vec<Arc<str>>,
    /// The keys of the shards that the plan moves, in its order.
    pub moved: Vec<Arc<str>>,
}

/// A view, and what its indices stand for.
struct Seen {
    view: View,
    executors: Vec<ExecutorId>,
    shards: Vec<ShardId>,
}

impl Namespace {
    /// What a cycle would do now, in this mode or the namespace's own, or once
    /// balance is resumed if it is frozen. Changes nothing.
    pub fn dry_run(&self, now: Time, mode: Option<Mode>) -> Planned {
        let mut policy = self.settings.policy;
        policy.mode = mode.unwrap_or(policy.mode);
        let seen = self.see(now);
        let plan = plimsoll_placement::plan(now, &seen.view, &policy, Scope::Full);
        self.with_names(policy.mode, plan, &seen)
    }

    pub(super) fn cycle_if_due(&mut self, now: Time) {
        if now < self.next_cycle {
            return;
        }
        self.next_cycle = now + self.settings.period.max(self.time_to_plan());
        if self.mass_failure_until.is_some_and(|until| now >= until) {
            self.mass_failure_until = None;
        }
        let somebody = self.open_executors().next().is_some();
        if somebody
            && self.recovering_until.is_none()
            && self.mass_failure_until.is_none()
            && self.may_place(now)
        {
            self.cycle(now);
        }
    }

    /// A cycle looks at every shard and nothing else is decided meanwhile: in the
    /// largest namespaces cycles come less often, so that it is a small part of the
    /// time.
    fn time_to_plan(&self) -> Duration {
        PAUSE_A_SHARD * u32::try_from(self.shards.len()).unwrap_or(u32::MAX)
    }

    /// The next cycle comes as soon as the cooldown allows.
    pub(super) fn cycle_soon(&mut self, now: Time) {
        let cooldown = self.settings.rebalance_cooldown.max(self.time_to_plan());
        let earliest = self.last_cycle.at.map_or(now + cooldown, |at| (at + cooldown).max(now));
        self.next_cycle = self.next_cycle.min(earliest);
    }

    fn cycle(&mut self, now: Time) {
        let policy: Policy = self.settings.policy;
        self.advance_loads(now);
        let seen = self.see(now);
        let plan = plimsoll_placement::plan(now, &seen.view, &policy, self.scope());
        for step in &plan.moves {
            self.carry_out(now, step, &seen);
        }
        self.stats.cycles += 1;
        let planned = self.with_names(policy.mode, plan, &seen);
        self.last_cycle = LastCycle { at: Some(now), planned: Some(planned) };
    }

    fn scope(&self) -> Scope {
        if self.frozen { Scope::Frozen } else { Scope::Full }
    }

    fn carry_out(&mut self, now: Time, step: &Move, seen: &Seen) {
        let id = seen.shards[step.shard.0 as usize];
        let to = seen.executors[step.to.0 as usize];
        match step.from {
            Some(_) => {
                let next = Next::To(to, step.reason);
                self.revoke(now, id, next, RevokeReason::Move(step.reason));
            }
            None => self.grant(now, id, to, Because::Moved(step.reason)),
        }
    }

    /// What the planner sees: shards in handover where they go, and nothing of
    /// those that are drained, done or failing.
    fn see(&self, now: Time) -> Seen {
        let mut indices = vec![ExecutorIndex(u32::MAX); self.executors.capacity()];
        let mut executors = Vec::with_capacity(self.executors.len());
        let mut view = View::default();
        for (slot, executor) in &self.executors {
            indices[slot] = ExecutorIndex(executors.len() as u32);
            executors.push(ExecutorId::of(slot));
            view.executors.push(self.see_executor(executor));
        }
        let mut shards = Vec::with_capacity(self.shards.len());
        view.shards.reserve(self.shards.len());
        for (slot, shard) in &self.shards {
            if let Some(seen) = self.see_shard(now, ShardId::of(slot), shard, &indices) {
                shards.push(ShardId::of(slot));
                view.shards.push(seen);
            }
        }
        Seen { view, executors, shards }
    }

    fn see_executor(&self, executor: &Executor) -> ExecutorView {
        ExecutorView {
            id: executor.id.clone(),
            candidacy: executor.candidacy(),
            capacity: executor.capacity(&self.settings),
            opened_at: executor.opened_at,
        }
    }

    fn see_shard(
        &self,
        now: Time,
        id: ShardId,
        shard: &Shard,
        indices: &[ExecutorIndex],
    ) -> Option<ShardView> {
        let (at, fixed) = match shard.phase {
            Phase::Owned { .. } => (shard.owner, false),
            Phase::Granting | Phase::Revoking { next: Next::Anyone, .. } => (shard.owner, true),
            Phase::Revoking { next: Next::To(to, _), .. } => (self.executor(to).map(|_| to), true),
            Phase::Unowned if !shard.drained && !self.failures.contains_key(&id) => (None, false),
            Phase::Unowned | Phase::Releasing => return None,
            Phase::Revoking { next: Next::Release, .. } => return None,
        };
        let owner = at.and_then(|owner| indices.get(owner.slot())).copied();
        if fixed && owner.is_none() {
            return None;
        }
        Some(ShardView {
            owner,
            load: shard.load_at(now, Smoothing::of(&self.settings.policy)),
            moved_at: shard.moved_at(),
            fixed,
            cost: self.move_costs.get(&id).copied().unwrap_or(1.0),
            ..ShardView::new(key_hash(&shard.key))
        })
    }

    /// Brings every average up to now and the executors' sums with them, which
    /// drift a little with every addition.
    fn advance_loads(&mut self, now: Time) {
        let smoothing = Smoothing::of(&self.settings.policy);
        for (_, executor) in &mut self.executors {
            executor.load = 0.0;
            let tells_changes = executor.link != Link::Unary;
            for id in &executor.shards {
                let Some(shard) = self.shards.get_mut(id.slot()) else { continue };
                shard.advance(now, smoothing, tells_changes);
                executor.load += shard.smoothed();
            }
        }
    }

    fn with_names(&self, mode: Mode, plan: Plan, seen: &Seen) -> Planned {
        let executors = seen.view.executors.iter().map(|executor| executor.id.clone()).collect();
        let key =
            |step: &Move| self.shard(seen.shards[step.shard.0 as usize]).map(|s| s.key.clone());
        let moved = plan.moves.iter().filter_map(key).collect();
        Planned { mode, plan, executors, moved }
    }
}
