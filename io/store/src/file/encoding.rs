//! How records become bytes and bytes become records again.
//!
//! Grants are written at every move, so redb lays them out as they are: eight bytes
//! of generation, then the executor. What is written seldom is JSON, which can be
//! read without us. Loads are many and written together: chunks of
//! `length of shard key (u32) | shard key | load (f64)`, little-endian.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::{DrainRecord, Kind, NamespaceRecord};

/// A chunk is rewritten whole and read whole: at usual key lengths about 100 KiB.
const LOADS_A_CHUNK: usize = 4096;

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
enum KindJson {
    Fixed { shards: u32 },
    Ephemeral,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "DrainRecord")]
struct DrainJson {
    drained_at_ms: u64,
    drained_by: String,
    reason: String,
}

pub(super) fn namespace_to_json(record: &NamespaceRecord) -> Result<Vec<u8>, redb::Error> {
    let mut json = Vec::new();
    NamespaceJson::serialize(record, &mut serde_json::Serializer::new(&mut json))
        .map_err(|error| redb::Error::Io(error.into()))?;
    Ok(json)
}

pub(super) fn namespace_from_json(
    name: &[u8],
    json: &[u8],
) -> Result<NamespaceRecord, redb::Error> {
    let name = text(name)?;
    let record = NamespaceJson::deserialize(&mut serde_json::Deserializer::from_slice(json));
    let record = record.map_err(|error| damaged("record of namespace", &name, &error))?;
    Ok(NamespaceRecord { name, ..record })
}

pub(super) fn drain_to_json(drain: &DrainRecord) -> Result<Vec<u8>, redb::Error> {
    let mut json = Vec::new();
    DrainJson::serialize(drain, &mut serde_json::Serializer::new(&mut json))
        .map_err(|error| redb::Error::Io(error.into()))?;
    Ok(json)
}

pub(super) fn drain_from_json(key: &str, json: &[u8]) -> Result<DrainRecord, redb::Error> {
    DrainJson::deserialize(&mut serde_json::Deserializer::from_slice(json))
        .map_err(|error| damaged("drain of", key, &error))
}

pub(super) fn loads_to_chunks(loads: &[(Arc<str>, f64)]) -> impl Iterator<Item = Vec<u8>> {
    loads.chunks(LOADS_A_CHUNK).map(loads_to_chunk)
}

fn loads_to_chunk(loads: &[(Arc<str>, f64)]) -> Vec<u8> {
    let mut chunk = Vec::new();
    for (shard, load) in loads {
        // redb bounds a value at 3 GiB, so a longer key could not be stored anyway.
        let length = u32::try_from(shard.len()).unwrap_or(u32::MAX);
        chunk.extend_from_slice(&length.to_le_bytes());
        chunk.extend_from_slice(shard.as_bytes());
        chunk.extend_from_slice(&load.to_le_bytes());
    }
    chunk
}

/// Appends the loads of a chunk to `loads`.
pub(super) fn loads_from_chunk(
    mut chunk: &[u8],
    loads: &mut Vec<(Arc<str>, f64)>,
) -> Result<(), redb::Error> {
    while !chunk.is_empty() {
        let (shard, load, rest) = split_load(chunk)
            .ok_or_else(|| redb::Error::Corrupted("a chunk of loads ends too soon".into()))?;
        loads.push((text(shard)?, load));
        chunk = rest;
    }
    Ok(())
}

fn split_load(chunk: &[u8]) -> Option<(&[u8], f64, &[u8])> {
    let (length, rest) = chunk.split_first_chunk()?;
    let (shard, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (load, rest) = rest.split_first_chunk()?;
    Some((shard, f64::from_le_bytes(*load), rest))
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
