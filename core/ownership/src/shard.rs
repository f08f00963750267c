//! What the machine remembers of one shard. There may be a million of these, so
//! what few shards need (waiters, failures, suspicions) lives in side tables.

use std::sync::Arc;

use plimsoll_placement::plan::MoveReason;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::Load;

use crate::action::RevokeReason;
use crate::ids::ExecutorId;
use crate::measured::{Measured, Smoothing};

#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) key: Arc<str>,
    /// Who runs it, may run it, or will run it once the grant is stored.
    pub(crate) owner: Option<ExecutorId>,
    /// Its place in the owner's list.
    pub(crate) slot: u32,
    pub(crate) drained: bool,
    /// The next cycle will look at it.
    pub(crate) is_noted: bool,
    /// A unary owner has reported it since it was granted.
    pub(crate) reported_running: bool,
    /// The leader before granted it and may yet tell its owner so.
    pub(crate) inherited: bool,
    pub(crate) phase: Phase,
    pub(crate) because: Because,
    /// Of the last grant; 0: never granted.
    pub(crate) generation: u64,
    /// When the phase began.
    pub(crate) since: Time,
    measured: Option<Measured>,
    /// `Time::MAX`: never moved for balance.
    moved_at: Time,
}

/// Where a shard is between two owners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Nobody has it.
    Unowned,
    /// The grant to `owner` is being stored; nobody knows of it yet.
    Granting,
    /// `owner` may run it. `told`: it may know.
    Owned { told: bool },
    /// `owner` must stop it. `told`: it may know.
    Revoking { next: Next, reason: RevokeReason, told: bool },
    /// Nobody runs it and the end of its grant is being stored.
    Releasing,
}

/// What becomes of a shard once its owner has stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    To(ExecutorId, MoveReason),
    /// Whoever fits best then.
    Anyone,
    /// It stays without owner: it is drained, or an ephemeral one that is done.
    Release,
}

/// Why a shard is where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Because {
    Moved(MoveReason),
    /// First use of an ephemeral shard.
    Created,
    /// The namespace was created with this owner.
    Initial,
    /// The server found it so in its store.
    Restored,
    /// The executor reported it to a server that had forgotten.
    Adopted,
}

impl Because {
    /// For the history.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Moved(reason) => reason.as_str(),
            Self::Created => "created",
            Self::Initial => "initial",
            Self::Restored => "restored",
            Self::Adopted => "adopted",
        }
    }

    /// For people.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Moved(MoveReason::Unowned) => "it had no owner and was placed by load",
            Self::Moved(MoveReason::HostDrained) => "its earlier host was drained",
            Self::Moved(MoveReason::ExecutorLeaving) => "its earlier owner was leaving",
            Self::Moved(MoveReason::FillEmpty) => "this executor had no shards",
            Self::Moved(MoveReason::Balance | MoveReason::Exchange) => {
                "its earlier host was too hot"
            }
            Self::Moved(MoveReason::Ring) => "the ring has it here",
            Self::Created => "it was placed here by load when it was first used",
            Self::Initial => "the namespace was created with this owner",
            Self::Restored => "this server found it so when it started",
            Self::Adopted => "its executor reported that it runs it",
        }
    }
}

impl Phase {
    /// One word for people.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unowned => "unowned",
            Self::Granting => "granting",
            Self::Owned { .. } => "owned",
            Self::Revoking { .. } => "revoking",
            Self::Releasing => "releasing",
        }
    }
}

impl Shard {
    pub(crate) fn new(key: Arc<str>, now: Time) -> Self {
        Self {
            key,
            owner: None,
            slot: 0,
            drained: false,
            is_noted: false,
            reported_running: false,
            inherited: false,
            phase: Phase::Unowned,
            because: Because::Restored,
            generation: 0,
            since: now,
            measured: None,
            moved_at: Time::MAX,
        }
    }

    pub(crate) fn enter(&mut self, phase: Phase, now: Time) {
        self.phase = phase;
        self.since = now;
    }

    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.phase, Phase::Owned { .. })
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// The smoothed load as of the last report; 0 if there was none.
    pub(crate) fn smoothed(&self) -> f64 {
        self.measured.map_or(0.0, |measured| measured.smoothed())
    }

    /// Takes a report that comes with every heartbeat, as the Go server does.
    pub(crate) fn measure(&mut self, load: f64, now: Time, smoothing: Smoothing) {
        self.measured = Some(Measured::after(self.measured, now, load, smoothing));
    }

    /// Takes a report that comes only when the load has changed: the one before
    /// it stood until now.
    pub(crate) fn measure_change(&mut self, load: f64, now: Time, smoothing: Smoothing) {
        self.measured = Some(match self.measured {
            Some(measured) => measured.changed(now, load, smoothing),
            None => Measured::after(None, now, load, smoothing),
        });
    }

    /// Brings the average up to now. `last`: the cycle before; `tells_changes`: its
    /// owner has a session.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        last: Option<Time>,
        smoothing: Smoothing,
        tells_changes: bool,
    ) {
        self.measured = self.measured.map(|it| it.at_cycle(now, last, smoothing, tells_changes));
    }

    /// Whether its average changes without another report.
    pub(crate) fn is_on_its_way(&self, smoothing: Smoothing, tells_changes: bool) -> bool {
        self.measured.is_some_and(|it| it.is_on_its_way(smoothing, tells_changes))
    }

    /// Restores a smoothed load from a checkpoint.
    pub(crate) fn restore_load(&mut self, load: f64, now: Time) {
        self.measured = Some(Measured::restored(now, load));
    }

    /// The load at `now`: the last report stands until there is another.
    pub(crate) fn load_at(&self, now: Time, smoothing: Smoothing) -> Option<Load> {
        self.measured.map(|measured| measured.until(now, smoothing).load())
    }

    /// When it last moved for the sake of balance.
    pub(crate) fn moved_at(&self) -> Option<Time> {
        (self.moved_at != Time::MAX).then_some(self.moved_at)
    }

    pub(crate) fn moved(&mut self, now: Time) {
        self.moved_at = now;
    }
}
