//! Reading a namespace: everything as of one revision.

use std::collections::HashSet;
use std::sync::Arc;

use super::EtcdError;
use super::api::KeyValue;
use super::client::Client;
use super::keys::{Folder, Keys};
use super::txn::{only, read_all};
use crate::record::{DrainRecord, GrantRecord, NamespaceRecord, Stored};
use crate::{json, load_chunks};

/// Every namespace whose record can be read, in order of name. One that cannot is
/// reported and left out: the others go on.
pub(super) async fn namespaces(
    client: &Client,
    keys: &Keys,
) -> Result<Vec<NamespaceRecord>, EtcdError> {
    let (found, _) = read_all(client, keys.folder(Folder::Namespaces), 0).await?;
    let mut records = Vec::with_capacity(found.len());
    for kv in found {
        match namespace(keys, &kv) {
            Ok(record) => records.push(record),
            Err(error) => tracing::error!(%error, "namespace left out"),
        }
    }
    Ok(records)
}

fn namespace(keys: &Keys, kv: &KeyValue) -> Result<NamespaceRecord, EtcdError> {
    let name = keys.name_of(Folder::Namespaces, &kv.key)?;
    let record = json::to_namespace(&kv.value).map_err(|error| damaged(kv, error))?;
    Ok(NamespaceRecord { name: name.into(), ..record })
}

/// Everything of a namespace. A record that cannot be read is an error: a grant that
/// is passed over would be given to somebody else while its owner goes on.
pub(super) async fn stored(client: &Client, keys: &Keys, name: &str) -> Result<Stored, EtcdError> {
    let (grants, revision) = read_all(client, keys.all_within(Folder::Grants, name), 0).await?;
    let all = async |folder| {
        let (found, _) = read_all(client, keys.all_within(folder, name), revision).await?;
        Ok::<_, EtcdError>(found)
    };
    let floor = only(keys.of(Folder::Floors, name));
    let (floor, _) = read_all(client, floor, revision).await?;
    Ok(Stored {
        grants: read_grants(keys, name, &grants)?,
        drained_shards: drains(keys, name, Folder::ShardDrains, &all(Folder::ShardDrains).await?)?,
        drained_hosts: drains(keys, name, Folder::HostDrains, &all(Folder::HostDrains).await?)?,
        generation_floor: floor.first().map(number).transpose()?.unwrap_or(0),
        loads: loads(&all(Folder::Loads).await?)?,
    })
}

fn read_grants(
    keys: &Keys,
    name: &str,
    found: &[KeyValue],
) -> Result<Vec<(Arc<str>, GrantRecord)>, EtcdError> {
    let mut executors = HashSet::new();
    let mut grants = Vec::with_capacity(found.len());
    for kv in found {
        let shard = keys.rest_of(Folder::Grants, name, &kv.key)?;
        grants.push((shard.into(), grant(kv, &mut executors)?));
    }
    Ok(grants)
}

/// One string for all the shards of an executor, instead of a copy a shard.
fn grant(kv: &KeyValue, executors: &mut HashSet<Arc<str>>) -> Result<GrantRecord, EtcdError> {
    let told = str::from_utf8(&kv.value).map_err(|_| damaged(kv, "it is not text"))?;
    let (generation, executor) =
        told.split_once(' ').ok_or_else(|| damaged(kv, "it is no generation and executor"))?;
    let generation = generation.parse().map_err(|error| damaged(kv, error))?;
    let executor = match executors.get(executor) {
        Some(executor) => Arc::clone(executor),
        None => {
            let executor: Arc<str> = executor.into();
            executors.insert(Arc::clone(&executor));
            executor
        }
    };
    Ok(GrantRecord { executor, generation })
}

fn drains(
    keys: &Keys,
    name: &str,
    folder: Folder,
    found: &[KeyValue],
) -> Result<Vec<(Arc<str>, DrainRecord)>, EtcdError> {
    let drain = |kv: &KeyValue| {
        let drained = keys.rest_of(folder, name, &kv.key)?;
        let drain = json::to_drain(&kv.value).map_err(|error| damaged(kv, error))?;
        Ok((drained.into(), drain))
    };
    found.iter().map(drain).collect()
}

fn loads(chunks: &[KeyValue]) -> Result<Vec<(Arc<str>, f64)>, EtcdError> {
    let mut loads = Vec::new();
    for kv in chunks {
        load_chunks::join(&kv.value, &mut loads).map_err(|detail| damaged(kv, detail))?;
    }
    Ok(loads)
}

/// A value that is a number in decimal.
pub(super) fn number(kv: &KeyValue) -> Result<u64, EtcdError> {
    let text = str::from_utf8(&kv.value).map_err(|_| damaged(kv, "it is not text"))?;
    text.parse().map_err(|error| damaged(kv, error))
}

pub(super) fn damaged(kv: &KeyValue, detail: impl std::fmt::Display) -> EtcdError {
    EtcdError::Damaged { key: kv.key.escape_ascii().to_string(), detail: detail.to_string() }
}
