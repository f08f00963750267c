//! The answer to a lookup, good or bad.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_routing::RoutedExecutor;

use crate::ADDRESS_KEY;

/// Who runs a shard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Owner {
    pub(super) executor: Arc<RoutedExecutor>,
    pub(super) generation: u64,
}

impl Owner {
    /// The id of the executor.
    pub fn executor_id(&self) -> &str {
        &self.executor.id
    }

    /// The fencing token of its grant.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Everything that the executor publishes of itself.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.executor.metadata
    }

    /// Where it answers requests for its shards, if it says so.
    pub fn address(&self) -> Option<&str> {
        self.executor.metadata.get(ADDRESS_KEY).map(String::as_str)
    }
}

/// Why nobody was found to run a shard.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LookupError {
    /// An operator ordered that it carries no work. Do not retry.
    #[error("shard {shard:?} is drained")]
    Drained { shard: Arc<str> },
    /// Do not retry.
    #[error("there is no shard {shard:?}: {message}")]
    NotFound { shard: Arc<str>, message: Arc<str> },
    /// The key is not allowed, or this caller is not. Do not retry.
    #[error("the server refused the lookup of shard {shard:?}: {message}")]
    Refused { shard: Arc<str>, message: Arc<str> },
    /// Nobody can run it now, or no server answered. It was retried for 2 s.
    #[error("no owner of shard {shard:?} was found in time, try again: {message}")]
    Unavailable { shard: Arc<str>, message: Arc<str> },
}
