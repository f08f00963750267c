//! How records become bytes and bytes become records again.
//!
//! Grants are written at every move, so redb lays them out as they are: eight bytes
//! of generation, then the executor. The rest is as in every store.

use std::sync::Arc;

use crate::record::{DrainRecord, NamespaceRecord};
use crate::{PolicyHead, json, load_chunks};

pub(super) fn namespace_to_json(record: &NamespaceRecord) -> Result<Vec<u8>, redb::Error> {
    json::from_namespace(record).map_err(|error| redb::Error::Io(error.into()))
}

pub(super) fn namespace_from_json(
    name: &[u8],
    json: &[u8],
) -> Result<NamespaceRecord, redb::Error> {
    let name = text(name)?;
    let record = json::to_namespace(json);
    let record = record.map_err(|error| damaged("record of namespace", &name, &error))?;
    Ok(NamespaceRecord { name, ..record })
}

pub(super) fn drain_to_json(drain: &DrainRecord) -> Result<Vec<u8>, redb::Error> {
    json::from_drain(drain).map_err(|error| redb::Error::Io(error.into()))
}

pub(super) fn drain_from_json(key: &str, json: &[u8]) -> Result<DrainRecord, redb::Error> {
    json::to_drain(json).map_err(|error| damaged("drain of", key, &error))
}

pub(super) fn policy_head_to_json(head: &PolicyHead) -> Result<Vec<u8>, redb::Error> {
    json::from_policy_head(head).map_err(|error| redb::Error::Io(error.into()))
}

pub(super) fn policy_head_from_json(
    service: &Arc<str>,
    json: &[u8],
) -> Result<PolicyHead, redb::Error> {
    let head = json::to_policy_head(service, json);
    head.map_err(|error| damaged("policy of", service, &error))
}

/// Appends the loads of a chunk to `loads`.
pub(super) fn loads_from_chunk(
    chunk: &[u8],
    loads: &mut Vec<(Arc<str>, f64)>,
) -> Result<(), redb::Error> {
    load_chunks::join(chunk, loads).map_err(|detail| redb::Error::Corrupted(detail.into()))
}

/// A key or an executor.
pub(super) fn text(bytes: &[u8]) -> Result<Arc<str>, redb::Error> {
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(_) => Err(redb::Error::Corrupted(format!("{} is not UTF-8", bytes.escape_ascii()))),
    }
}

fn damaged(what: &str, name: &str, error: &serde_json::Error) -> redb::Error {
    redb::Error::Corrupted(format!("the {what} {name:?} cannot be read: {error}"))
}
