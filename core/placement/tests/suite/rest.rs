//! Cycles with fixed loads until nothing moves any more.

use std::time::Duration;

use plimsoll_placement::plan;
use plimsoll_placement::plan::{MoveReason, Plan, Scope};
use plimsoll_placement::policy::Policy;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ShardView, View};

/// From one cycle to the next, as the Go server's `process.period`.
const PERIOD: Duration = Duration::from_secs(1);

/// Every start here is at rest long before.
const NEVER: Time = Time::from_millis(1_500_000);

/// What it took to come to rest.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) view: View,
    pub(crate) now: Time,
    pub(crate) moves: usize,
    pub(crate) last: Plan,
}

/// Plans and applies until no shard has moved for longer than any cooldown.
pub(crate) fn run_to_rest(mut view: View, policy: &Policy) -> Rest {
    let patience = policy.per_shard_cooldown() + PERIOD;
    let (mut now, mut moved_at, mut moves) = (Time::ZERO, Time::ZERO, 0);
    loop {
        now += PERIOD;
        let last = plan(now, &view, policy, Scope::Full);
        if !last.moves.is_empty() {
            moved_at = now;
            moves += last.moves.len();
        }
        apply(&mut view, &last, now);
        if now - moved_at > patience {
            return Rest { view, now, moves, last };
        }
        assert!(now < NEVER, "never comes to rest");
    }
}

/// Carries a plan out, with every handover done at once.
pub(crate) fn apply(view: &mut View, plan: &Plan, now: Time) {
    for step in &plan.moves {
        let shard: &mut ShardView = &mut view.shards[step.shard.0 as usize];
        shard.owner = Some(step.to);
        if matches!(step.reason, MoveReason::Balance | MoveReason::Exchange | MoveReason::FillEmpty)
        {
            shard.moved_at = Some(now);
        }
    }
}
