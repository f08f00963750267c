//! A plan: the moves of one cycle, each with its reason, and the reasons for
//! every move that was not made. An empty report means "nothing to do", never
//! "unknown".

use std::fmt;

use crate::measures::{Balance, Bound};
use crate::view::{ExecutorIndex, ShardIndex};

/// How much of planning a cycle is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// Only shards that have nobody or must leave: after a death or a drain.
    Forced,
    /// Those, and the moves for balance.
    Full,
    /// As `Full`, with balance frozen by an operator: the report says so.
    Frozen,
}

/// What one cycle decided.
#[derive(Clone, Debug)]
#[must_use = "a plan that nobody carries out moves nothing"]
pub struct Plan {
    pub moves: Vec<Move>,
    pub report: Report,
}

/// One shard to one new owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    pub shard: ShardIndex,
    /// `None`: nobody had it.
    pub from: Option<ExecutorIndex>,
    pub to: ExecutorIndex,
    /// The load that the planner counted for it.
    pub load: f64,
    pub reason: MoveReason,
    /// By how much the spread falls with it, as a part of the mean. The moves
    /// of one exchange share theirs; 0 for a move that must be made anyway, and
    /// in modes that do not weigh it.
    pub gain: f64,
}

/// Why a shard moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MoveReason {
    /// It had no owner.
    Unowned,
    /// Its host is drained.
    HostDrained,
    /// Its executor is leaving.
    ExecutorLeaving,
    /// An executor had nothing at all.
    FillEmpty,
    /// Its host was too hot.
    Balance,
    /// Its host was too hot, and no shard fitted alone: several change places.
    Exchange,
    /// The ring puts it elsewhere.
    Ring,
}

/// Why things are as they are after a cycle.
#[derive(Clone, Debug, Default)]
#[must_use = "an unread report is not actionable"]
pub struct Report {
    /// Over open executors, before the moves and after them.
    pub before: Balance,
    pub after: Balance,
    /// The least that any placement of these shards on open executors could be.
    pub bound: Bound,
    /// One for every host left hot, in order of load.
    pub held: Vec<HeldHost>,
    /// Shards that have no owner, or must leave theirs, and could not be placed
    /// since no executor is open.
    pub unplaced: usize,
    /// Why the cycle as a whole stopped where it did.
    pub stopped: Option<StopReason>,
}

/// A host that stays too hot, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldHost {
    pub executor: ExecutorIndex,
    /// Per unit of its capacity.
    pub load: f64,
    /// What it should carry at best, per unit of its capacity: the level that can
    /// be attained. `None` in modes that compare hosts with the mean.
    pub share: Option<f64>,
    pub reason: HoldReason,
}

/// Why a hot host was left alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HoldReason {
    /// Every shard that would help has moved too recently.
    Cooldown,
    /// The cycle's budget of moves was spent.
    Budget,
    /// No shard is small enough to make the pair more even.
    NoShardFits,
    /// Every shard that would help would make the target hot.
    OverloadsTarget,
    /// None of its shards has been measured, or all are next to nothing.
    Unmeasured,
    /// Balance is frozen.
    Frozen,
    /// No host is below the lower band.
    NoColdHost,
    /// Its shards are already in handover.
    InHandover,
    /// It is no hotter than the noise of its loads explains.
    Noise,
    /// It carries one shard that is larger than a fair share, and nothing else
    /// that could leave.
    ShardTooLarge,
    /// What would help costs more than it gains.
    NotWorthIt,
    /// Only a new executor has room, and that is waited for.
    Newcomer,
}

/// Why a cycle made no (more) moves for balance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// Every host is inside the bands, or as near to its share as can be had.
    Balanced,
    /// The budget was spent.
    Budget,
    /// Hot hosts remain and no move helps them: see [`Report::held`].
    Stuck,
    /// Balance is frozen.
    Frozen,
    /// Fewer than two executors are open.
    TooFewExecutors,
    /// No load has been measured.
    Unmeasured,
}

impl MoveReason {
    /// Whether such a move must be made, whatever balance says.
    pub fn is_forced(self) -> bool {
        match self {
            Self::Unowned | Self::HostDrained | Self::ExecutorLeaving => true,
            Self::FillEmpty | Self::Balance | Self::Exchange | Self::Ring => false,
        }
    }

    /// The word used on the wire, in metrics and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unowned => "unowned",
            Self::HostDrained => "host-drain",
            Self::ExecutorLeaving => "leaving",
            Self::FillEmpty => "fill-empty",
            Self::Balance => "balance",
            Self::Exchange => "exchange",
            Self::Ring => "ring",
        }
    }
}

impl HoldReason {
    /// Whether nothing better is to be had, or wanted yet.
    pub fn is_content(self) -> bool {
        matches!(self, Self::Noise | Self::ShardTooLarge | Self::Newcomer | Self::NotWorthIt)
    }

    /// The word used on the wire, in metrics and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cooldown => "cooldown",
            Self::Budget => "budget",
            Self::NoShardFits => "no-shard-fits",
            Self::OverloadsTarget => "overloads-target",
            Self::Unmeasured => "unmeasured",
            Self::Frozen => "frozen",
            Self::NoColdHost => "no-cold-host",
            Self::InHandover => "in-handover",
            Self::Noise => "noise",
            Self::ShardTooLarge => "shard-too-large",
            Self::NotWorthIt => "not-worth-it",
            Self::Newcomer => "newcomer",
        }
    }
}

impl StopReason {
    /// The word used on the wire, in metrics and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::Budget => "budget",
            Self::Stuck => "stuck",
            Self::Frozen => "frozen",
            Self::TooFewExecutors => "too-few-executors",
            Self::Unmeasured => "unmeasured",
        }
    }
}

impl fmt::Display for MoveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
