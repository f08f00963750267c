//! Reading: each a snapshot of the file, each an ordered scan, none of them in the
//! way of the writer.

use std::collections::HashSet;
use std::sync::Arc;

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition};

use super::encoding::{drain_from_json, loads_from_chunk, namespace_from_json, text};
use super::schema::{GRANTS, HOST_DRAINS, LOADS, NAMESPACES, Pair, SHARD_DRAINS};
use super::tables::{chunks_of, keys_of};
use crate::record::{DrainRecord, GrantRecord, NamespaceRecord, Stored};

/// Every namespace, in order of name.
pub(super) fn namespaces(database: &Database) -> Result<Vec<NamespaceRecord>, redb::Error> {
    let table = database.begin_read()?.open_table(NAMESPACES)?;
    let mut records = Vec::new();
    for entry in table.iter()? {
        let (name, head) = entry?;
        records.push(namespace_from_json(name.value(), head.value().2)?);
    }
    Ok(records)
}

/// Everything of a namespace, if there is one of that name.
pub(super) fn stored(database: &Database, namespace: &str) -> Result<Option<Stored>, redb::Error> {
    let snapshot = database.begin_read()?;
    let heads = snapshot.open_table(NAMESPACES)?;
    let Some(head) = heads.get(namespace.as_bytes())? else { return Ok(None) };
    Ok(Some(Stored {
        grants: grants(&snapshot, namespace)?,
        drained_shards: drains(&snapshot, SHARD_DRAINS, namespace)?,
        drained_hosts: drains(&snapshot, HOST_DRAINS, namespace)?,
        generation_floor: head.value().1,
        loads: loads(&snapshot, namespace)?,
    }))
}

fn grants(
    snapshot: &ReadTransaction,
    namespace: &str,
) -> Result<Vec<(Arc<str>, GrantRecord)>, redb::Error> {
    let mut executors = Executors::default();
    let mut grants = Vec::new();
    for entry in keys_of(&snapshot.open_table(GRANTS)?, namespace)? {
        let (key, value) = entry?;
        let (generation, executor) = value.value();
        let executor = executors.shared(executor)?;
        grants.push((text(key.value().1)?, GrantRecord { executor, generation }));
    }
    Ok(grants)
}

fn drains(
    snapshot: &ReadTransaction,
    table: TableDefinition<'_, Pair, &[u8]>,
    namespace: &str,
) -> Result<Vec<(Arc<str>, DrainRecord)>, redb::Error> {
    let mut drains = Vec::new();
    for entry in keys_of(&snapshot.open_table(table)?, namespace)? {
        let (key, json) = entry?;
        let name = text(key.value().1)?;
        let drain = drain_from_json(&name, json.value())?;
        drains.push((name, drain));
    }
    Ok(drains)
}

fn loads(snapshot: &ReadTransaction, namespace: &str) -> Result<Vec<(Arc<str>, f64)>, redb::Error> {
    let mut loads = Vec::new();
    for entry in snapshot.open_table(LOADS)?.range(chunks_of(namespace))? {
        loads_from_chunk(entry?.1.value(), &mut loads)?;
    }
    Ok(loads)
}

/// One string for all the shards of an executor, instead of a million copies.
#[derive(Default)]
struct Executors(HashSet<Arc<str>>);

impl Executors {
    fn shared(&mut self, bytes: &[u8]) -> Result<Arc<str>, redb::Error> {
        let known = str::from_utf8(bytes).ok().and_then(|name| self.0.get(name));
        if let Some(executor) = known {
            return Ok(Arc::clone(executor));
        }
        let executor = text(bytes)?;
        self.0.insert(Arc::clone(&executor));
        Ok(executor)
    }
}
