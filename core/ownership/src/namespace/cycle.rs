//! The cycle: every period the planner looks for imbalance, and its moves become
//! revocations.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::plan::{Move, Plan, Scope};
use plimsoll_placement::policy::Mode;
use plimsoll_placement::time::Time;

use super::Namespace;
use crate::ids::{ExecutorId, ShardId};
use crate::shard::Because;

/// Between two cycles, for each shard that the last one looked at: some four times
/// what that takes at a million shards. Above the default period from 250,000 on.
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

impl Namespace {
    /// What a cycle would do now, in this mode or the namespace's own, or once
    /// balance is resumed if it is frozen. Changes nothing.
    pub fn dry_run(&self, now: Time, mode: Option<Mode>) -> Planned {
        let mut policy = self.settings.policy;
        policy.mode = mode.unwrap_or(policy.mode);
        let plan = self.ledger_by(now, policy).plan(now, Scope::Full);
        self.with_names(policy.mode, plan)
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
            && self.overlap_until.is_none()
            && self.mass_failure_until.is_none()
            && self.may_place(now)
        {
            self.cycle(now);
        }
    }

    /// A cycle looks at every shard that changed and nothing else is decided
    /// meanwhile: where very many change, cycles come less often, so that it is a
    /// small part of the time.
    fn time_to_plan(&self) -> Duration {
        PAUSE_A_SHARD * u32::try_from(self.planning.looked_at()).unwrap_or(u32::MAX)
    }

    /// The next cycle comes as soon as the cooldown allows.
    pub(super) fn cycle_soon(&mut self, now: Time) {
        let cooldown = self.settings.rebalance_cooldown.max(self.time_to_plan());
        let earliest = self.last_cycle.at.map_or(now + cooldown, |at| (at + cooldown).max(now));
        self.next_cycle = self.next_cycle.min(earliest);
    }

    fn cycle(&mut self, now: Time) {
        self.catch_up(now, self.last_cycle.at);
        let scope = self.scope();
        let Some(plan) = self.planning.plan(now, scope) else { return };
        debug_assert!(self.is_as_if_new(now, scope, &plan), "a kept ledger missed a change");
        for step in &plan.moves {
            self.carry_out(now, step);
        }
        self.stats.cycles += 1;
        let planned = self.with_names(self.settings.policy.mode, plan);
        self.last_cycle = LastCycle { at: Some(now), planned: Some(planned) };
    }

    /// Whether a look at everything would have found the same. (The other modes'
    /// averages go on while nobody looks.)
    fn is_as_if_new(&self, now: Time, scope: Scope, plan: &Plan) -> bool {
        let policy = self.settings.policy;
        policy.mode != Mode::Adaptive
            || self.ledger_by(now, policy).plan(now, scope).moves == plan.moves
    }

    fn scope(&self) -> Scope {
        if self.frozen { Scope::Frozen } else { Scope::Full }
    }

    fn carry_out(&mut self, now: Time, step: &Move) {
        let (id, to) = (ShardId(step.shard.0), ExecutorId(step.to.0));
        match step.from {
            Some(_) => self.move_to(now, id, to, step.reason),
            None => self.grant(now, id, to, Because::Moved(step.reason)),
        }
    }

    fn with_names(&self, mode: Mode, plan: Plan) -> Planned {
        let mut executors = vec![Arc::from(""); self.executors.capacity()];
        for (slot, executor) in &self.executors {
            executors[slot] = executor.id.clone();
        }
        let key = |step: &Move| self.shard(ShardId(step.shard.0)).map(|shard| shard.key.clone());
        let moved = plan.moves.iter().filter_map(key).collect();
        Planned { mode, plan, executors, moved }
    }
}
