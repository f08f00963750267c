//! The lines of an export.

use serde::{Deserialize, Serialize};

use crate::PolicyHead;
use crate::json::{DrainJson, KindJson, PolicyHeadJson};
use crate::record::{DrainRecord, Kind};

/// One line, named by its only key.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    PlimsollExport {
        version: u32,
    },
    Namespace {
        name: String,
        #[serde(with = "KindJson")]
        kind: Kind,
        settings: Vec<(String, String)>,
        frozen: bool,
        generation_floor: u64,
    },
    Grant {
        shard: String,
        executor: String,
        generation: u64,
    },
    DrainedShard {
        shard: String,
        #[serde(flatten, with = "DrainJson")]
        drain: DrainRecord,
    },
    DrainedHost {
        host: String,
        #[serde(flatten, with = "DrainJson")]
        drain: DrainRecord,
    },
    /// As text: JSON has no infinity, and not every reader keeps every digit.
    Load {
        shard: String,
        load: String,
    },
    EndOfNamespace {
        records: u64,
        xxh3: String,
    },
    /// The policy of a service: its revisions follow, the oldest first.
    Policy {
        service: String,
    },
    Revision {
        #[serde(flatten, with = "PolicyHeadJson")]
        head: PolicyHead,
        text: String,
    },
    EndOfPolicy {
        revisions: u64,
        xxh3: String,
    },
    EndOfExport {
        namespaces: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        policies: u64,
    },
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
