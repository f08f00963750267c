//! Records that are written seldom, as JSON, which can be read without us.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
