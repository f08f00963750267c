//! Moves in the making: a leg is one shard from one host to another, a step the
//! legs that belong together.

use crate::view::{ExecutorIndex, ShardIndex};

use super::shelf::Book;

/// One shard from one host to another, as ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) book: Book,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Leg {
    pub(super) fn is_home(&self, at: u32) -> bool {
        self.book.home == Some(at)
    }

    /// Whether the shard counts as moved while it is there: not where it was when
    /// the cycle began, nor if it had to leave that.
    pub(super) fn is_away(&self, at: u32) -> bool {
        self.book.origin.is_some_and(|origin| origin != at)
    }
}

/// Shards that move together, or not at all.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What it takes from the sum of `load² / capacity`.
    pub(super) gain: f64,
    pub(super) moves: Vec<(ShardIndex, ExecutorIndex)>,
}
