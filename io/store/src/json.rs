//! Records that are written seldom, as JSON, which can be read without us.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::PolicyHead;
use crate::record::{DrainRecord, Kind, NamespaceRecord};

#[derive(Deserialize, Serialize)]
#[serde(remote = "NamespaceRecord")]
struct NamespaceJson {
    /// The key says it.
    #[serde(skip)]
    name: Arc<str>,
    #[serde(with = "KindJson")]
    kind: Kind,
    settings: Vec<(String, String)>,
    frozen: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Kind", rename_all = "snake_case")]
pub(crate) enum KindJson {
    Fixed { shards: u32 },
    Ephemeral,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "DrainRecord")]
pub(crate) struct DrainJson {
    drained_at_ms: u64,
    drained_by: String,
    reason: String,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "PolicyHead")]
pub(crate) struct PolicyHeadJson {
    /// The key says it.
    #[serde(skip)]
    service: Arc<str>,
    revision: u64,
    saved_at_ms: u64,
    author: String,
    comment: String,
    #[serde(default, skip_serializing_if = "is_none")]
    rolled_back_to: u64,
}

fn is_none(revision: &u64) -> bool {
    *revision == 0
}

pub(crate) fn from_namespace(record: &NamespaceRecord) -> serde_json::Result<Vec<u8>> {
    let mut json = Vec::new();
    NamespaceJson::serialize(record, &mut serde_json::Serializer::new(&mut json))?;
    Ok(json)
}

/// The name is left empty.
pub(crate) fn to_namespace(json: &[u8]) -> serde_json::Result<NamespaceRecord> {
    NamespaceJson::deserialize(&mut serde_json::Deserializer::from_slice(json))
}

pub(crate) fn from_drain(drain: &DrainRecord) -> serde_json::Result<Vec<u8>> {
    let mut json = Vec::new();
    DrainJson::serialize(drain, &mut serde_json::Serializer::new(&mut json))?;
    Ok(json)
}

pub(crate) fn to_drain(json: &[u8]) -> serde_json::Result<DrainRecord> {
    DrainJson::deserialize(&mut serde_json::Deserializer::from_slice(json))
}

pub(crate) fn from_policy_head(head: &PolicyHead) -> serde_json::Result<Vec<u8>> {
    let mut json = Vec::new();
    PolicyHeadJson::serialize(head, &mut serde_json::Serializer::new(&mut json))?;
    Ok(json)
}

pub(crate) fn to_policy_head(service: &Arc<str>, json: &[u8]) -> serde_json::Result<PolicyHead> {
    let head = PolicyHeadJson::deserialize(&mut serde_json::Deserializer::from_slice(json))?;
    Ok(PolicyHead { service: Arc::clone(service), ..head })
}
