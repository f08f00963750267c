//! What a planner sees: executors and shards of one namespace at one moment.
//!
//! Dense indices instead of names, so that a planner never hashes a string; the
//! caller keeps the names. A shard in handover is shown at its destination and
//! `fixed`, so that moves in flight count as done.

use std::sync::Arc;

use crate::time::Time;

/// Position of an executor in [`View::executors`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ExecutorIndex(pub u32);

/// Position of a shard in [`View::shards`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ShardIndex(pub u32);

/// One namespace as a planner sees it.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub executors: Vec<ExecutorView>,
    pub shards: Vec<ShardView>,
}

/// One executor.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorView {
    /// The executor's id: breaks ties and places it on the ring.
    pub id: Arc<str>,
    pub candidacy: Candidacy,
    /// How much it can carry beside the others: one with 2 is given twice the
    /// load of one with 1. Above 0 and finite; 1 for one that says nothing.
    pub capacity: f64,
    /// Since when it may be given shards; `None`: for long.
    pub opened_at: Option<Time>,
}

impl ExecutorView {
    /// An executor of that name with the capacity of one that says nothing,
    /// known for long.
    pub fn new(id: impl Into<Arc<str>>, candidacy: Candidacy) -> Self {
        Self { id: id.into(), candidacy, capacity: 1.0, opened_at: None }
    }
}

/// Whether an executor may carry shards.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Candidacy {
    /// It may be given shards.
    Open,
    /// An operator drained its host: its shards must go.
    Drained,
    /// It said that it is leaving: its shards must go.
    Leaving,
    /// Its silence is being waited out: it keeps what it has and gets nothing.
    Silent,
}

impl Candidacy {
    /// Whether shards may be given to it.
    pub fn is_open(self) -> bool {
        self == Self::Open
    }

    /// Whether the shards on it must be moved away.
    pub fn must_empty(self) -> bool {
        matches!(self, Self::Drained | Self::Leaving)
    }
}

/// One shard.
#[derive(Clone, Copy, Debug)]
pub struct ShardView {
    /// [`crate::ring::key_hash`] of the shard's key: its place on the ring, and
    /// the seed of its ties.
    pub key_hash: u64,
    /// Who has it, or will have it once a handover ends. `None`: it must be placed.
    pub owner: Option<ExecutorIndex>,
    /// `None`: nobody has measured it yet; it counts as the mean.
    pub load: Option<Load>,
    /// When it last changed its owner for the sake of balance; `None`: never.
    pub moved_at: Option<Time>,
    /// In handover: it counts where it goes and must not be moved now.
    pub fixed: bool,
    /// What moving it costs the application, in moves of a shard that says
    /// nothing: one with 3 moves only where it helps three times as much. For
    /// instance its state over the usual state. Above 0 and finite; 1 for one
    /// that says nothing.
    pub cost: f64,
}

impl ShardView {
    /// A shard with this [`key_hash`](crate::ring::key_hash) that has no owner,
    /// was never measured, never moved, and costs what others do.
    pub fn new(key_hash: u64) -> Self {
        Self { key_hash, owner: None, load: None, moved_at: None, fixed: false, cost: 1.0 }
    }
}

/// The load of a shard in the application's own unit: finite, not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Exponential moving average.
    pub smoothed: f64,
    /// The last report.
    pub reported: f64,
    /// The variance of `smoothed` itself, not of one report: how far noise alone
    /// may have taken it, squared. 0 if the load is quiet or its noise unknown;
    /// finite, not negative. [`Estimate`](crate::smoothing::Estimate) measures it.
    pub variance: f64,
}

impl Load {
    /// A load that is known exactly.
    pub fn exactly(load: f64) -> Self {
        Self { smoothed: load, reported: load, variance: 0.0 }
    }
}
