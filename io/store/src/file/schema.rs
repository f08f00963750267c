//! The tables of the file and the version of their meaning.
//!
//! Keys are bytes, not `str`: redb panics over a `str` that is not UTF-8, and a
//! damaged file must be an error. A namespace and a key within it form a pair, whose
//! parts redb compares one after the other, so that no name can reach into another's
//! range whatever characters it has.

use redb::{Database, TableDefinition, TableHandle, WriteTransaction};

/// Raise it when an older server would misread what this one writes.
pub(super) const VERSION: u64 = 1;

/// `SCHEMA` and `EPOCH`.
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub(super) const SCHEMA: &str = "schema";
/// The highest epoch given out, of all namespaces.
pub(super) const EPOCH: &str = "epoch";

/// By name: present epoch, generation floor, and the record as JSON.
pub(super) const NAMESPACES: TableDefinition<'_, &[u8], (u64, u64, &[u8])> =
    TableDefinition::new("namespaces");

pub(super) type Pair = (&'static [u8], &'static [u8]);

/// By namespace and shard: generation and executor.
pub(super) const GRANTS: TableDefinition<'_, Pair, (u64, &[u8])> = TableDefinition::new("grants");

/// By namespace and shard, JSON.
pub(super) const SHARD_DRAINS: TableDefinition<'_, Pair, &[u8]> =
    TableDefinition::new("shard_drains");

/// By namespace and host, JSON.
pub(super) const HOST_DRAINS: TableDefinition<'_, Pair, &[u8]> =
    TableDefinition::new("host_drains");

/// By namespace and number of the chunk: shards and their smoothed loads.
pub(super) const LOADS: TableDefinition<'_, (&[u8], u32), &[u8]> = TableDefinition::new("loads");

/// By service: the newest revision of its policy.
pub(super) const POLICIES: TableDefinition<'_, &[u8], u64> = TableDefinition::new("policies");

/// By service and revision: everything but the text, as JSON.
pub(super) const POLICY_HEADS: TableDefinition<'_, (&[u8], u64), &[u8]> =
    TableDefinition::new("policy_heads");

/// By service and revision.
pub(super) const POLICY_TEXTS: TableDefinition<'_, (&[u8], u64), &[u8]> =
    TableDefinition::new("policy_texts");

/// Makes the tables of an empty file and those that an older one lacks, and tells the
/// version. A newer one is left alone.
pub(super) fn prepare(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    if transaction.list_tables()?.next().is_some() {
        let version = {
            let meta = transaction.open_table(META)?;
            redb::ReadableTable::get(&meta, SCHEMA)?.map(|version| version.value())
        };
        let version = version.ok_or_else(|| redb::Error::Corrupted("it names no schema".into()))?;
        if version <= VERSION && !has_policies(&transaction)? {
            make_policies(&transaction)?;
            transaction.commit()?;
        }
        return Ok(version);
    }
    transaction.open_table(META)?.insert(SCHEMA, VERSION)?;
    transaction.open_table(NAMESPACES)?;
    transaction.open_table(GRANTS)?;
    transaction.open_table(SHARD_DRAINS)?;
    transaction.open_table(HOST_DRAINS)?;
    transaction.open_table(LOADS)?;
    make_policies(&transaction)?;
    transaction.commit()?;
    Ok(VERSION)
}

fn has_policies(transaction: &WriteTransaction) -> Result<bool, redb::Error> {
    let mut tables = transaction.list_tables()?;
    Ok(tables.any(|table| table.name() == POLICIES.name()))
}

fn make_policies(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(POLICIES)?;
    transaction.open_table(POLICY_HEADS)?;
    transaction.open_table(POLICY_TEXTS)?;
    Ok(())
}
