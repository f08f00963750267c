//! What becomes of a request: admitted, shed with a reason, or expired.

use std::time::Duration;

use crate::criticality::Criticality;
use crate::request::{CallerIndex, QueueIndex};
use crate::signal::SignalKind;
use crate::time::Time;

/// What [`Shedder::arrive`](crate::Shedder::arrive) decides at once.
#[derive(Debug)]
#[must_use = "a request that is admitted and never completed holds its place for ever"]
pub enum Arrival {
    /// Its handler may start now.
    Admitted(Permit),
    /// It waits: a verdict follows from `poll_verdict`, unless it is cancelled.
    Queued(Ticket),
    /// It is refused, before its handler saw it: safe to retry elsewhere.
    Refused(Refusal),
}

/// What becomes of a request that waited.
#[derive(Debug)]
#[must_use = "a request that is admitted and never completed holds its place for ever"]
pub enum Verdict {
    Admitted(Permit),
    Refused(Refusal),
}

/// A request that waits. Names one waiting request only: the place of one that is
/// gone is given a new number.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ticket {
    /// Position among all that wait, reused: a shell may keep its waker there.
    pub slot: u32,
    pub(crate) number: u32,
}

/// The right to run one handler, to be given back exactly once with
/// [`Shedder::complete`](crate::Shedder::complete). Not `Clone` on purpose.
#[derive(Debug)]
#[must_use = "a permit that is not completed holds its place for ever"]
pub struct Permit {
    pub(crate) queue: QueueIndex,
    pub(crate) level: Criticality,
    pub(crate) arrived_at: Time,
    pub(crate) admitted_at: Time,
    /// Apart, so that a permit is small: it is moved some times a request.
    pub(crate) would_refuse: Option<Box<Refusal>>,
    pub(crate) caller: CallerIndex,
    pub(crate) hold: Hold,
    pub(crate) started: bool,
    /// Stalls of the process up to its admission, in nanoseconds.
    pub(crate) stalled: u64,
}

/// What a permit takes up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hold {
    /// A place.
    Place,
    /// In dry-run, a place in the reckoning of what enforcing would do, or a
    /// position in its queue.
    Ghost,
    /// In dry-run, nothing: enforcing would have refused it.
    Over,
    /// Nothing, and it is not looked at.
    Unwatched,
}

impl Permit {
    /// The queue whose place it holds.
    pub fn queue(&self) -> QueueIndex {
        self.queue
    }

    /// The level at which it was admitted.
    pub fn level(&self) -> Criticality {
        self.level
    }

    /// From arrival to admission.
    pub fn queue_wait(&self) -> Duration {
        self.admitted_at - self.arrived_at
    }

    /// When its handler might start.
    pub fn admitted_at(&self) -> Time {
        self.admitted_at
    }

    /// In dry-run: how it would have been refused.
    pub fn would_refuse(&self) -> Option<Refusal> {
        self.would_refuse.as_deref().copied()
    }

    /// Whether [`Shedder::started`](crate::Shedder::started) was told of it.
    pub fn is_started(&self) -> bool {
        self.started
    }
}

/// Why a request was not admitted, and what its caller may do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refusal {
    pub reason: Reason,
    /// The least critical level of which nothing is being refused in that queue
    /// now: callers can hold back what lies below it.
    pub admitted_level: Criticality,
    /// When it is worth coming again; already spread by jitter.
    pub retry_after: Duration,
}

/// Why a request was not admitted.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Reason {
    /// It would have waited longer than its level may.
    Overload,
    /// It waited, and a more critical one took its place.
    PushedOut,
    /// The bound of the queue in entries or bytes is reached.
    QueueFull,
    /// Even critical requests alone exceed what can be carried, and the bound is
    /// reached.
    CriticalSaturated,
    /// Its caller has more than its share, or its cap.
    CallerShare,
    /// A resource is exhausted.
    Resource(SignalKind),
    /// Nobody waits for the answer any more: its outcome is `expired`, not shed.
    Expired,
    /// The service is shutting down.
    ShuttingDown,
}

impl Reason {
    /// The word in headers, metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overload => "overload",
            Self::PushedOut => "pushed_out",
            Self::QueueFull => "queue_full",
            Self::CriticalSaturated => "critical_saturated",
            Self::CallerShare => "caller_share",
            Self::Resource(kind) => kind.as_str(),
            Self::Expired => "expired",
            Self::ShuttingDown => "shutting_down",
        }
    }
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It answered whole: the time it took counts for the limit.
    Answered,
    /// It has sent its first byte and goes on as a stream: the place is free, and
    /// its duration says nothing.
    Streaming,
    /// The client went away, the handler panicked, or it failed at once: the place
    /// is free, and the time says nothing.
    Abandoned,
}
