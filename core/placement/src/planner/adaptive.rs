//! As even as can be had, with as few moves as that takes.
//!
//! Hosts are measured against the level that can be attained: shards larger than
//! a fair share pin a host each, the rest is spread over what remains. A host is
//! hot, or cold, if it is further from the level than the noise of its loads
//! explains. Only that starts a move, so there is no band to tune; where loads
//! are quiet, what is left is within [`Adaptive::min_tolerance`].
//!
//! In order:
//!
//! 1. A hot host gives its largest shard that neither takes it below its share nor
//!    makes another host hot. Such moves only ever carry load from above the level to
//!    below it, so together they carry no more than the result demands.
//! 2. If no such shards can bring it down, it gives one that is too large.
//! 3. A cold host is given to by those above the level, in the same way.
//! 4. Where single moves are stuck, shards of two hosts change places.
//!
//! Each step must gain more than it costs ([`worth`]). The last thing a plan does
//! is to look at its own result as the next cycle will: it ends when that finds
//! nothing, or when the budget is spent. So planning again moves nothing, by
//! construction.
//!
//! [`Adaptive::min_tolerance`]: crate::policy::Adaptive::min_tolerance

mod exchange;
mod field;
mod hold;
mod leg;
mod reach;
mod settle;
mod shelf;
mod worth;

use crate::plan::StopReason;
use crate::view::ExecutorIndex;

use super::draft::Draft;
use super::greedy::budget_for;
use super::verdict::Verdict;

use field::Field;
use leg::Step;
use reach::Reach;
use settle::Budget;

pub(super) use shelf::Slots;

pub(super) fn balance(draft: &mut Draft<'_>) -> Verdict {
    if draft.open().len() < 2 {
        return Verdict::stopped(StopReason::TooFewExecutors);
    }
    draft.note_empty();
    let mut budget = Budget::new(budget(draft));
    // What is placed anyway goes where it fits best before anything else moves.
    if draft.has_moves() {
        let mut field = Field::new(draft, Reach::Placed);
        settle::settle(&mut field, &mut budget);
        let (steps, lent) = field.end();
        draft.take_back(lent);
        carry_out(draft, &steps);
    }
    loop {
        let mut field = Field::new(draft, Reach::All);
        settle::settle(&mut field, &mut budget);
        let verdict = (!field.has_steps()).then(|| hold::verdict(&field, &budget));
        let (steps, lent) = field.end();
        draft.take_back(lent);
        if let Some(verdict) = verdict {
            return verdict;
        }
        carry_out(draft, &steps);
        draft.look_again();
    }
}

fn carry_out(draft: &mut Draft<'_>, steps: &[Step]) {
    let mut spread = Spread::of(draft);
    for Step { gain, moves } in steps {
        let gain = spread.fall(*gain) / moves.len() as f64;
        for &(shard, to) in moves {
            draft.carry(shard, to, moves.len() > 1, gain);
        }
    }
    draft.recount();
}

/// The spread as it falls, step by step.
struct Spread {
    /// The sum of the squares of what hosts are off the mean, by capacity.
    squares: f64,
    /// What that is divided by, to be a part of the mean.
    scale: f64,
}

impl Spread {
    fn of(draft: &mut Draft<'_>) -> Self {
        let balance = draft.balance();
        let scale = draft.total_capacity() * balance.mean * balance.mean;
        Self { squares: balance.spread * balance.spread * scale, scale }
    }

    /// By how much it falls when that is taken from the squares.
    fn fall(&mut self, gain: f64) -> f64 {
        let left = (self.squares - gain).max(0.0);
        let fall = (self.squares / self.scale).sqrt() - (left / self.scale).sqrt();
        self.squares = left;
        fall
    }
}

/// Hosts that are too hot, hottest first.
pub(super) fn hot(draft: &mut Draft<'_>) -> Vec<ExecutorIndex> {
    let field = Field::new(draft, Reach::All);
    let hot = field.hot_hosts().map(|rank| field.executor(rank)).collect();
    let (_, lent) = field.end();
    draft.take_back(lent);
    hot
}

fn budget(draft: &mut Draft<'_>) -> usize {
    budget_for(draft.policy.adaptive.move_budget_proportion, draft.assigned())
}
