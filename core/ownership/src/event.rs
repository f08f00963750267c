//! The history of a namespace: what happened to whom and why, in words that the
//! wire, the console and `smctl` share.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_placement::time::Time;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub at: Time,
    pub what: What,
    pub shard: Option<Arc<str>>,
    /// The executor, or the host of a host drain.
    pub executor: Option<Arc<str>>,
    /// 0: no grant is concerned.
    pub generation: u64,
    /// Why; may be empty.
    pub detail: Cow<'static, str>,
}

/// What happened.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum What {
    /// An executor is known from now on.
    Joined,
    /// It wants no more work.
    Leaving,
    /// It said goodbye.
    Left,
    /// Its lease ran out.
    Expired,
    /// It said goodbye and that it comes back.
    Away,
    /// The next owner was told to make ready; the present one serves on.
    Preparing,
    /// The next owner did not make ready, or not in time.
    PrepareFailed,
    /// The owner was told to stop.
    Revoked,
    /// What the owner left for the next one was too much to be kept.
    StateLost,
    /// The owner does not run it any more.
    Stopped,
    /// It could not start, or stopped by itself.
    Failed,
    Granted,
    /// Ownership was taken over from what an executor reported.
    Adopted,
    /// The work of an ephemeral shard is finished.
    Done,
    ShardDrained,
    ShardUndrained,
    /// The server drained a shard that killed its owners.
    Quarantined,
    HostDrained,
    HostUndrained,
    Frozen,
    Resumed,
    SettingsChanged,
    Reset,
    /// Many executors fell silent together: nothing is moved for one lease.
    MassFailure,
    /// The server itself stood still: everybody gets that time back.
    Stalled,
    /// This server began to lead the namespace.
    Led,
}

impl What {
    /// Every kind there is.
    pub const ALL: [Self; 26] = [
        Self::Joined,
        Self::Leaving,
        Self::Left,
        Self::Expired,
        Self::Away,
        Self::Preparing,
        Self::PrepareFailed,
        Self::Revoked,
        Self::StateLost,
        Self::Stopped,
        Self::Failed,
        Self::Granted,
        Self::Adopted,
        Self::Done,
        Self::ShardDrained,
        Self::ShardUndrained,
        Self::Quarantined,
        Self::HostDrained,
        Self::HostUndrained,
        Self::Frozen,
        Self::Resumed,
        Self::SettingsChanged,
        Self::Reset,
        Self::MassFailure,
        Self::Stalled,
        Self::Led,
    ];

    /// The word used on the wire, in metrics and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Joined => "joined",
            Self::Leaving => "leaving",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::Away => "away",
            Self::Preparing => "preparing",
            Self::PrepareFailed => "prepare-failed",
            Self::Revoked => "revoked",
            Self::StateLost => "state-lost",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Granted => "granted",
            Self::Adopted => "adopted",
            Self::Done => "done",
            Self::ShardDrained => "shard-drained",
            Self::ShardUndrained => "shard-undrained",
            Self::Quarantined => "quarantined",
            Self::HostDrained => "host-drained",
            Self::HostUndrained => "host-undrained",
            Self::Frozen => "frozen",
            Self::Resumed => "resumed",
            Self::SettingsChanged => "settings-changed",
            Self::Reset => "reset",
            Self::MassFailure => "mass-failure",
            Self::Stalled => "stalled",
            Self::Led => "led",
        }
    }
}
