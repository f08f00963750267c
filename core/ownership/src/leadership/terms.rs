//! What a server sees of the others, and what it is to do.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Everybody at one moment of the store.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Seen {
    /// Every server's id, and its place: what stays when it is started again.
    pub servers: BTreeMap<Arc<str>, Arc<str>>,
    pub leaders: BTreeMap<Arc<str>, Led>,
}

/// Who leads a namespace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Led {
    pub server: Arc<str>,
    pub epoch: u64,
}

/// What a server is to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Act {
    /// Try to lead. `replacing` is the epoch of the leadership that was seen.
    Run { namespace: Arc<str>, replacing: Option<u64> },
    /// Stop leading at once: acknowledge nothing more.
    StepDown { namespace: Arc<str>, why: Why },
    /// Give the leadership to that server, with the state.
    HandOver { namespace: Arc<str>, to: Arc<str> },
    /// Take away the key of a leadership that is over, so that others may lead.
    Resign { namespace: Arc<str>, epoch: u64 },
}

/// Why a leader steps down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Why {
    /// It has not seen for too long that it still leads.
    NoConfidence,
    /// Another one leads, or nobody.
    Replaced,
    /// Its place among the servers has run out.
    LeaseLost,
}

impl Why {
    /// As it is logged and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoConfidence => "the store did not confirm the leadership for 3 s",
            Self::Replaced => "another server leads it now",
            Self::LeaseLost => "this server's lease in the store has run out",
        }
    }
}
