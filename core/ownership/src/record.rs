//! What must survive a restart: the records of a namespace and the writes that
//! change them. Heartbeats and loads in flight are not here, on purpose.

use std::sync::Arc;

/// A namespace as it is stored.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamespaceRecord {
    /// At most 128 bytes of letters, digits, `-`, `_` and `.`.
    pub name: Arc<str>,
    pub kind: Kind,
    /// Setting names and values that differ from the defaults, in order of name.
    pub settings: Vec<(String, String)>,
    /// Balance is frozen by an operator.
    pub frozen: bool,
}

/// Which shards a namespace has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// The shards "0" to "n - 1", always.
    Fixed { shards: u32 },
    /// Any key, from its first use until its owner reports it done.
    Ephemeral,
}

/// Who owns a shard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GrantRecord {
    pub executor: Arc<str>,
    /// Grows with every grant of the shard: the fencing token.
    pub generation: u64,
}

/// An operator's order, or the server's own, that a shard or host carries no work.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DrainRecord {
    /// Milliseconds since 1970, of the clock of the server that took the order.
    pub drained_at_ms: u64,
    /// Who gave the order; may be empty.
    pub drained_by: String,
    /// Why; may be empty. `crash-loop` marks a quarantine.
    pub reason: String,
}

/// Everything that is stored of one namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// In order of shard key.
    pub grants: Vec<(Arc<str>, GrantRecord)>,
    /// In order of shard key.
    pub drained_shards: Vec<(Arc<str>, DrainRecord)>,
    /// In order of host name.
    pub drained_hosts: Vec<(Arc<str>, DrainRecord)>,
    /// Every generation ever granted is at or below this.
    pub generation_floor: u64,
    /// The last checkpoint of smoothed loads, in order of shard key.
    pub loads: Vec<(Arc<str>, f64)>,
}

/// One change of what is stored. A batch of them is applied whole or not at all,
/// in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    Grant {
        shard: Arc<str>,
        grant: GrantRecord,
    },
    /// The shard has no owner any more.
    Release {
        shard: Arc<str>,
    },
    DrainShard {
        shard: Arc<str>,
        drain: DrainRecord,
    },
    UndrainShard {
        shard: Arc<str>,
    },
    DrainHost {
        host: Arc<str>,
        drain: DrainRecord,
    },
    UndrainHost {
        host: Arc<str>,
    },
    GenerationFloor(u64),
    /// Replaces the settings and the freeze of the namespace.
    Namespace(NamespaceRecord),
    /// Replaces the checkpoint of smoothed loads whole.
    Loads(Vec<(Arc<str>, f64)>),
}
