//! A namespace on its way from one server to the next: what the records do not
//! say, as plain data that can travel.
//!
//! Clocks of two servers have nothing in common, so every time is a span: how
//! long ago, or how long still, when it was written. Questions that wait for an
//! answer do not travel (they are asked again), nor do loads that are not
//! smoothed yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::plan::MoveReason;

use crate::action::RevokeReason;
use crate::message::State;

/// Everything that the next leader needs beside the records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandoverState {
    /// The last generation granted.
    pub generation: u64,
    pub executors: Vec<ExecutorState>,
    pub shards: Vec<ShardState>,
    /// Hosts whose executors died soon after they got a shard, by shard.
    pub suspects: Vec<(Arc<str>, Vec<Arc<str>>)>,
    /// How much longer nothing is moved since many fell silent together.
    pub mass_failure_for: Option<Duration>,
    /// How much longer a leader before the one that hands over may go on telling what
    /// it knew.
    pub overlap_for: Option<Duration>,
    /// A reset is to be carried out then.
    pub reset_after: bool,
}

/// One executor.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorState {
    pub id: Arc<str>,
    pub host: Arc<str>,
    pub metadata: BTreeMap<String, String>,
    pub link: LinkState,
    /// Of its last hello; 0: none, or it does not count them.
    pub attempt: u64,
    /// The lease that it was told last.
    pub told_lease: Duration,
    /// How long an earlier welcome may still hold.
    pub promised_for: Duration,
    pub heard_ago: Duration,
    /// How much longer a mass failure keeps it from being called dead.
    pub held_for: Option<Duration>,
    /// Since when it may be given shards; `None`: for long.
    pub open_since: Option<Duration>,
    /// Since when it has the version that it has; `None`: for long.
    pub version_since: Option<Duration>,
    /// How much longer its shards are kept for it, since it said that it restarts.
    pub away_for: Option<Duration>,
    pub leaving: bool,
    pub prepares: bool,
    /// The last status on the Go wire; 0 for sessions.
    pub wire_status: i32,
}

/// How an executor speaks with the servers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkState {
    /// It is known from the records only.
    Unheard,
    Session,
    Unary,
}

/// One shard.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardState {
    pub key: Arc<str>,
    /// Of its last grant.
    pub generation: u64,
    /// The place of its owner in [`HandoverState::executors`].
    pub owner: Option<u32>,
    pub phase: PhaseState,
    /// How long ago the phase began.
    pub since: Duration,
    /// How long ago it last moved for the sake of balance.
    pub moved: Option<Duration>,
    /// Smoothed.
    pub load: Option<f64>,
    /// What moving it costs, if its executor said so.
    pub move_cost: Option<f64>,
    /// A unary owner has reported it since it was granted.
    pub reported_running: bool,
    /// A leader before the one that hands over may yet tell its owner of it.
    pub inherited: bool,
    pub failure: Option<FailureState>,
    pub legacy: Option<LegacyState>,
}

/// Where a shard is between two owners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PhaseState {
    /// Nobody runs it.
    Unowned,
    /// Nobody runs it and nobody knows of its grant, which may be stored or not.
    Granting,
    /// `told`: the owner may know.
    Owned {
        told: bool,
    },
    /// The same, and it is being made ready elsewhere.
    Preparing {
        to: u32,
        reason: MoveReason,
        left: Duration,
    },
    Revoking {
        next: NextState,
        reason: RevokeReason,
        told: bool,
    },
}

/// What becomes of a shard once its owner has stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextState {
    To(u32, MoveReason),
    Anyone,
    Release,
}

/// A shard that failed to start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FailureState {
    pub count: u32,
    pub retry_in: Duration,
    pub error: String,
}

/// What the owner before left for the next one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LegacyState {
    /// The owner before.
    pub from: Arc<str>,
    pub state: Option<State>,
    /// Of the grant that brings it; `None`: there is none yet.
    pub generation: Option<u64>,
    /// How many bytes of state were too much to be handed over; 0: none.
    pub lost: u64,
}

impl LegacyState {
    /// Leaves the state behind, and says so.
    pub fn lose(&mut self) {
        self.lost += self.state.take().map_or(0, |state| state.len() as u64);
    }
}
