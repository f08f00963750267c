//! What the two halves of a session say of shards, as plain data: the words that
//! [`crate::action::Tell`] and [`crate::holder::Incoming`] share.

use std::sync::Arc;

/// The most that an owner may hand to the next one, in bytes.
pub const MAX_STATE_BYTES: usize = 1024 * 1024;

/// What an owner hands to the next one, at most [`MAX_STATE_BYTES`].
pub type State = Arc<[u8]>;

/// An executor may run a shard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grant {
    pub shard: Arc<str>,
    /// Grows with every grant of the shard: the fencing token.
    pub generation: u64,
    /// What the owner before handed over.
    pub state: Option<State>,
    /// The owner before, if the shard comes straight from it.
    pub previous: Option<Arc<str>>,
}

/// A shard is about to come: it can be made ready while its owner serves on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Preparation {
    pub shard: Arc<str>,
    /// Of the present owner's grant: names the preparation.
    pub generation: u64,
}

/// Where a revoked shard goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NextOwner {
    pub executor: Arc<str>,
    /// Where that executor says it can be reached; may be empty.
    pub address: Arc<str>,
}

/// What an executor does when its lease ends and no server was heard.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LeaseEnd {
    /// It stops every shard: never two owners.
    #[default]
    Stop,
    /// It runs on until a server says otherwise. If it was only cut off, and its
    /// shards were given to others, they run twice meanwhile.
    Keep,
}

impl Grant {
    /// A grant that comes from nobody.
    pub fn new(shard: impl Into<Arc<str>>, generation: u64) -> Self {
        Self { shard: shard.into(), generation, state: None, previous: None }
    }
}

impl LeaseEnd {
    /// From the word used in settings.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "stop" => Some(Self::Stop),
            "keep" => Some(Self::Keep),
            _ => None,
        }
    }

    /// The word used in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Keep => "keep",
        }
    }
}
