//! Numbers that only grow, for metrics and summaries.

use plimsoll_placement::plan::MoveReason;

use crate::event::What;

/// Counters since the machine was made.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    events: [u64; What::ALL.len()],
    /// Grants that took a shard from one owner to another.
    pub moves: u64,
    /// Those of them that were for balance.
    pub balance_moves: u64,
    /// The load, as the planner counted it, that was moved for balance.
    pub balance_moved_load: f64,
    /// Reports of a shard by an executor while another one owns it.
    pub contested: u64,
    /// Cycles that looked for imbalance.
    pub cycles: u64,
}

impl Stats {
    /// How often this happened.
    pub fn of(&self, what: What) -> u64 {
        self.events[what as usize]
    }

    pub(crate) fn count(&mut self, what: What) {
        self.events[what as usize] += 1;
    }

    pub(crate) fn moved(&mut self, reason: MoveReason, load: f64) {
        if reason == MoveReason::Unowned {
            return;
        }
        self.moves += 1;
        if matches!(
            reason,
            MoveReason::Balance | MoveReason::Exchange | MoveReason::FillEmpty | MoveReason::Ring
        ) {
            self.balance_moves += 1;
            self.balance_moved_load += load;
        }
    }
}
