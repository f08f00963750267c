//! What can be wrong with a plan.

use thiserror::Error;

use crate::plan::MoveReason;
use crate::view::{ExecutorIndex, ShardIndex};

/// One thing that is wrong. Executors and shards are named by their positions
/// in the view.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum Violation {
    #[error("shard {} is not in the view: the plan is for another one", shard.0)]
    NoSuchShard { shard: ShardIndex },
    #[error("shard {} is taken from {says:?} but belongs to {owner:?}", shard.0)]
    WrongSource { shard: ShardIndex, says: Option<ExecutorIndex>, owner: Option<ExecutorIndex> },
    #[error("shard {} goes to executor {}, which is not open", shard.0, to.0)]
    ClosedTarget { shard: ShardIndex, to: ExecutorIndex },
    #[error("shard {} is moved to where it is", shard.0)]
    StaysWhereItIs { shard: ShardIndex },
    #[error("shard {} is in handover and is moved all the same", shard.0)]
    InHandover { shard: ShardIndex },
    #[error("shard {} is moved as {reason}, which does not hold for it", shard.0)]
    WrongReason { shard: ShardIndex, reason: MoveReason },
    #[error("shard {} is moved for balance during its cooldown", shard.0)]
    InCooldown { shard: ShardIndex },
    #[error("shard {} counts as {load}, which is no load", shard.0)]
    BadLoad { shard: ShardIndex, load: f64 },
    #[error("shard {} is moved more than once", shard.0)]
    MovedTwice { shard: ShardIndex },
    #[error("shard {} must move and could, but is left", shard.0)]
    Forgotten { shard: ShardIndex },
    #[error("{unplaced} shards could not be placed, but the report says {says}")]
    Miscounted { unplaced: usize, says: usize },
    #[error("{moves} moves for balance, but the budget is {budget}")]
    OverBudget { moves: usize, budget: usize },
    #[error("shard {} is moved for balance although balance is frozen", shard.0)]
    MovedWhileFrozen { shard: ShardIndex },
}
