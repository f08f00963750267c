//! What passes between an executor, the server and the driver of its session, as
//! plain data. The wire's own messages carry the same words.

use std::sync::Arc;
use std::time::Duration;

use crate::message::{Grant, LeaseEnd, NextOwner, Preparation, State};

/// A shard that an executor has, as its hello names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Holding {
    pub shard: Arc<str>,
    /// The generation it was last granted under.
    pub generation: u64,
    /// It can no longer be kept: its stop is under way, or has ended and is told
    /// once more after the hello, since the state that it leaves may not have come.
    pub stopping: bool,
}

/// What an executor says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outgoing {
    /// Always the first on a stream. What is not in `running` does not run.
    Hello { running: Vec<Holding> },
    /// Extends the lease once it is acknowledged.
    Beat { sequence: u64 },
    /// The shard runs. Said again after every reconnect.
    Started { shard: Arc<str>, generation: u64 },
    /// The shard does not run, under this generation or any before it.
    Stopped {
        shard: Arc<str>,
        generation: u64,
        /// Why it could not start.
        error: Option<String>,
        /// For the next owner.
        state: Option<State>,
    },
    /// The work of the shard is finished.
    Done { shard: Arc<str>, generation: u64 },
    /// What was to be prepared is ready; `error`: why it cannot be.
    Prepared { shard: Arc<str>, generation: u64, error: Option<String> },
    /// No more work, please.
    Leaving,
    /// Nothing runs. `returning`: another process will come back for it all.
    Goodbye { returning: bool },
}

/// What the server says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Incoming {
    /// Answers the hello: `grants` are all shards that the executor may run,
    /// `preparations` all that it is to prepare.
    Welcome {
        lease: Duration,
        beat: Duration,
        lease_end: LeaseEnd,
        grants: Vec<Grant>,
        preparations: Vec<Preparation>,
    },
    /// Shards beside those granted before.
    Granted(Vec<Grant>),
    Revoked(Vec<Revocation>),
    /// Shards that are about to come.
    Prepare(Vec<Preparation>),
    /// Of those, what does not come.
    Abandon(Vec<Preparation>),
    BeatAck {
        sequence: u64,
    },
    /// Always the last on a stream.
    Farewell(FarewellReason),
}

/// A shard to stop.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Revocation {
    pub shard: Arc<str>,
    pub generation: u64,
    /// The server's word for why.
    pub reason: String,
    /// Where the shard goes, if that is known.
    pub next: Option<NextOwner>,
}

/// Why the server ended a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FarewellReason {
    /// It answers a goodbye.
    Goodbye,
    /// A later session with the same executor id took over.
    Replaced,
    /// The lease had run out.
    Expired,
    NamespaceDeleted,
    /// It goes down, or gives the namespace to another server.
    ServerLeaving,
}

/// What the driver is to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// Only for the stream of the last `connected`.
    Send(Outgoing),
    /// Start the shard, then call `started` once with this generation. What was
    /// prepared for it is used up.
    Start(Grant),
    /// Make ready for the shard, then call `prepared` once with this generation.
    /// Nothing may be done that only its owner may do.
    Prepare(Preparation),
    /// Give free what was prepared; no call follows. It may come while the
    /// preparation still runs: then that is cancelled.
    Abandon(Preparation),
    /// Stop the shard, then call `stopped` once with this generation, that of its
    /// start. It may come while the start still runs: then the start is to be
    /// waited for or cancelled before the stop begins.
    Stop { shard: Arc<str>, generation: u64, reason: StopReason },
    /// Drop the stream, if there still is one, open another and call `connected`.
    Reconnect(Pace),
    /// The lease is over, and the shards run on since the namespace says so
    /// ([`LeaseEnd::Keep`]). Told once each time.
    LeaseOutlived,
    /// Nothing runs and nothing follows.
    Finished(Finish),
}

/// How soon to open the next stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// At once, to another server if there is one.
    AtOnce,
    /// As after any failure: soon, then less often.
    BackOff,
    /// There is little hope: seldom.
    Slowly,
}

/// Why a shard is to stop.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// The server said so, with its own reason.
    Revoked {
        reason: String,
        /// Where the shard goes, if that is known.
        next: Option<NextOwner>,
    },
    /// It is not among what the server granted anew after a reconnect.
    NotGranted,
    /// The server was silent too long, or said that it heard nothing too long.
    LeaseLost,
    /// Another process runs under the same executor id.
    Replaced,
    NamespaceDeleted,
    /// The executor says goodbye.
    Shutdown,
}

/// How a holder ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Finish {
    /// By a goodbye, and the server needs nothing more.
    Goodbye,
    /// Another process took over the executor id.
    Replaced,
}
