//! What every plan must fulfil, whoever made it.
//!
//! Written once, apart from the planners and without their helpers, so that a
//! mistake in those does not excuse itself. Used by the planner on its own
//! result in debug builds, by property tests, and by whoever gets a plan from
//! elsewhere. Refuses to judge whether a plan is good: only whether it is sound.

mod violation;

use std::collections::BTreeSet;

use crate::plan::{Move, MoveReason, Plan, StopReason};
use crate::policy::{Mode, Policy};
use crate::time::Time;
use crate::view::{ShardIndex, ShardView, View};

pub use violation::Violation;

/// Everything that is wrong with a plan for this view; nothing if it is sound.
pub fn check(now: Time, view: &View, policy: &Policy, plan: &Plan) -> Vec<Violation> {
    let mut violations = Vec::new();
    for step in &plan.moves {
        violations.extend(wrong_with_move(now, view, policy, step));
    }
    violations.extend(moved_twice(plan));
    violations.extend(forgotten(view, plan));
    violations.extend(over_budget(view, policy, plan));
    violations.extend(thawed(plan));
    violations
}

fn wrong_with_move(now: Time, view: &View, policy: &Policy, step: &Move) -> Option<Violation> {
    let shard = step.shard;
    let Some(seen) = view.shards.get(shard.0 as usize) else {
        return Some(Violation::NoSuchShard { shard });
    };
    let target = view.executors.get(step.to.0 as usize);
    if step.from != seen.owner {
        Some(Violation::WrongSource { shard, says: step.from, owner: seen.owner })
    } else if !target.is_some_and(|executor| executor.candidacy.is_open()) {
        Some(Violation::ClosedTarget { shard, to: step.to })
    } else if step.from == Some(step.to) {
        Some(Violation::StaysWhereItIs { shard })
    } else if seen.fixed {
        Some(Violation::InHandover { shard })
    } else if is_forced(step.reason) != must_move(view, seen) {
        Some(Violation::WrongReason { shard, reason: step.reason })
    } else if is_for_balance(step) && is_cooling(now, policy, seen) {
        Some(Violation::InCooldown { shard })
    } else if !(step.load.is_finite() && step.load >= 0.0) {
        Some(Violation::BadLoad { shard, load: step.load })
    } else {
        None
    }
}

fn is_forced(reason: MoveReason) -> bool {
    match reason {
        MoveReason::Unowned | MoveReason::HostDrained | MoveReason::ExecutorLeaving => true,
        MoveReason::FillEmpty | MoveReason::Balance | MoveReason::Exchange | MoveReason::Ring => {
            false
        }
    }
}

/// Whether it counts towards the budget.
fn is_for_balance(step: &Move) -> bool {
    matches!(step.reason, MoveReason::Balance | MoveReason::Exchange)
}

/// Whether it has nobody, or an owner that must give it away.
fn must_move(view: &View, shard: &ShardView) -> bool {
    let candidacy = |owner: usize| view.executors.get(owner).map(|owner| owner.candidacy);
    let owner = shard.owner.and_then(|owner| candidacy(owner.0 as usize));
    owner.is_none_or(|candidacy| candidacy.must_empty())
}

fn is_cooling(now: Time, policy: &Policy, shard: &ShardView) -> bool {
    let cooldown = policy.per_shard_cooldown();
    shard.moved_at.is_some_and(|moved_at| now.since(moved_at) < cooldown)
}

fn moved_twice(plan: &Plan) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let again = plan.moves.iter().filter(|step| !seen.insert(step.shard));
    again.map(|step| Violation::MovedTwice { shard: step.shard }).collect()
}

/// Shards that must move, did not, and could have.
fn forgotten(view: &View, plan: &Plan) -> Vec<Violation> {
    let moved: BTreeSet<ShardIndex> = plan.moves.iter().map(|step| step.shard).collect();
    let shards = (0u32..).map(ShardIndex).zip(&view.shards);
    let left: Vec<ShardIndex> = shards
        .filter(|(index, shard)| !shard.fixed && must_move(view, shard) && !moved.contains(index))
        .map(|(index, _)| index)
        .collect();
    if view.executors.iter().any(|executor| executor.candidacy.is_open()) {
        left.into_iter().map(|shard| Violation::Forgotten { shard }).collect()
    } else if left.len() != plan.report.unplaced {
        vec![Violation::Miscounted { unplaced: left.len(), says: plan.report.unplaced }]
    } else {
        Vec::new()
    }
}

fn over_budget(view: &View, policy: &Policy, plan: &Plan) -> Option<Violation> {
    let moves = plan.moves.iter().filter(|step| is_for_balance(step)).count();
    let budget = match policy.mode {
        Mode::Ring => 0,
        Mode::Naive => 1,
        Mode::Greedy | Mode::Adaptive => {
            let assigned = assigned_after_forced(view, plan) as f64;
            (policy.move_budget_proportion() * assigned).ceil() as usize
        }
    };
    (moves > budget).then_some(Violation::OverBudget { moves, budget })
}

/// How many shards open executors have once forced work is done.
fn assigned_after_forced(view: &View, plan: &Plan) -> usize {
    let on_open = |shard: &&ShardView| {
        let owner = shard.owner.and_then(|owner| view.executors.get(owner.0 as usize));
        owner.is_some_and(|owner| owner.candidacy.is_open())
    };
    let forced = plan.moves.iter().filter(|step| is_forced(step.reason)).count();
    view.shards.iter().filter(on_open).count() + forced
}

/// A frozen cycle makes only forced moves.
fn thawed(plan: &Plan) -> Option<Violation> {
    let frozen = plan.report.stopped == Some(StopReason::Frozen);
    let free = plan.moves.iter().find(|step| !is_forced(step.reason));
    free.filter(|_| frozen).map(|step| Violation::MovedWhileFrozen { shard: step.shard })
}
