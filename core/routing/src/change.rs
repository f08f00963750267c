//! What changes a table: parts of a snapshot, and deltas. Plain data; whether it
//! fits is for the table to say.

use std::collections::BTreeMap;
use std::sync::Arc;

/// An executor as a spectator sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RoutedExecutor {
    pub id: Arc<str>,
    /// As the executor gave it, e.g. `grpc_address` = "10.0.0.7:9000".
    pub metadata: BTreeMap<String, String>,
}

/// A shard's new owner.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteChange {
    pub shard: Arc<str>,
    /// The id of an executor that the table knows, or that the same change names.
    pub executor: Arc<str>,
    /// The fencing token of the grant.
    pub generation: u64,
}

/// Takes a table from revision `from` to revision `to`, which is not smaller.
/// Applied in the order of its fields.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Delta {
    pub from: u64,
    pub to: u64,
    /// New, or with changed metadata.
    pub executors: Vec<Arc<RoutedExecutor>>,
    pub routes: Vec<RouteChange>,
    /// Shards that nobody owns any more.
    pub unowned: Vec<Arc<str>>,
    pub drained: Vec<Arc<str>>,
    pub undrained: Vec<Arc<str>>,
    /// An executor that routes still name stays known until the last of them goes.
    pub gone_executors: Vec<Arc<str>>,
}

/// One part of a snapshot. All parts of one carry the same epoch and revision.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SnapshotPart {
    /// Revisions of two epochs do not compare.
    pub epoch: Arc<str>,
    pub revision: u64,
    pub first: bool,
    pub last: bool,
    /// A route names an executor of its own part or of an earlier one.
    pub executors: Vec<Arc<RoutedExecutor>>,
    pub routes: Vec<RouteChange>,
    pub drained: Vec<Arc<str>>,
}
