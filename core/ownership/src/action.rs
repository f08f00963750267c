//! What the machine wants done. A shell does it, in this order, and decides
//! nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::plan::MoveReason;

use crate::event::Event;
use crate::ids::{RequestId, SessionId};
use crate::message::{Grant, LeaseEnd, NextOwner, Preparation};

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send this on that session, if it is still open.
    Tell { session: SessionId, message: Tell },
    /// Tell the spectators.
    Route(RouteChange),
    /// Answer a question or an order.
    Answer { request: RequestId, outcome: Outcome },
    /// Write the history.
    Record(Event),
}

/// A message to an executor with a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Tell {
    Welcome {
        lease: Duration,
        beat: Duration,
        lease_end: LeaseEnd,
        /// All that it may run.
        grants: Vec<Grant>,
        /// All that it is to prepare.
        preparations: Vec<Preparation>,
    },
    Granted(Grant),
    Revoked {
        shard: Arc<str>,
        generation: u64,
        reason: RevokeReason,
        /// Where it goes, if that is known.
        next: Option<NextOwner>,
    },
    Prepare(Preparation),
    /// What was to be prepared does not come.
    Abandon(Preparation),
    BeatAck {
        sequence: u64,
    },
    /// The last message of a session.
    Farewell(Farewell),
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Farewell {
    Goodbye,
    Replaced,
    Expired,
    NamespaceDeleted,
    ServerLeaving,
}

/// Why a shard is taken from its owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RevokeReason {
    Move(MoveReason),
    ShardDrain,
    Done,
    Reset,
    /// It was being stopped when its owner came back.
    Stopping,
    /// Another executor proved to have a later grant.
    Superseded,
}

/// A change of what spectators see.
#[derive(Clone, Debug, PartialEq)]
pub enum RouteChange {
    /// New, or its metadata changed.
    Executor {
        id: Arc<str>,
        metadata: Arc<BTreeMap<String, String>>,
    },
    /// It owns nothing and is gone.
    ExecutorGone {
        id: Arc<str>,
    },
    Owned {
        shard: Arc<str>,
        executor: Arc<str>,
        generation: u64,
    },
    Unowned {
        shard: Arc<str>,
    },
    Drained {
        shard: Arc<str>,
    },
    Undrained {
        shard: Arc<str>,
    },
}

/// The answer to a question or an order.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Owner {
        executor: Arc<str>,
        generation: u64,
        metadata: Arc<BTreeMap<String, String>>,
    },
    /// An operator or the server drained the shard.
    Drained,
    /// There is no such shard and there never will be by asking.
    NotFound,
    /// Nobody can run it now.
    NoExecutor,
    /// The order is stored; these were changed by it.
    Ordered {
        changed: Vec<Arc<str>>,
    },
}

impl RevokeReason {
    /// Every reason there is.
    pub const ALL: [Self; 12] = [
        Self::Move(MoveReason::Unowned),
        Self::Move(MoveReason::HostDrained),
        Self::Move(MoveReason::ExecutorLeaving),
        Self::Move(MoveReason::FillEmpty),
        Self::Move(MoveReason::Balance),
        Self::Move(MoveReason::Exchange),
        Self::Move(MoveReason::Ring),
        Self::ShardDrain,
        Self::Done,
        Self::Reset,
        Self::Stopping,
        Self::Superseded,
    ];

    /// The reason of this word; `None` if there is none.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// The word used on the wire and in the history.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Move(reason) => reason.as_str(),
            Self::ShardDrain => "shard-drain",
            Self::Done => "done",
            Self::Reset => "reset",
            Self::Stopping => "stopping",
            Self::Superseded => "superseded",
        }
    }
}

impl fmt::Display for RevokeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
