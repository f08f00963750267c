//! The tables as a write transaction has them open, and what each change does to
//! them.
//!
//! A change is refused before it has written anything. So a refusal fails alone, and
//! the other changes of its transaction go through.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use redb::{Range, ReadableTable, Table, Value, WriteTransaction};

use super::encoding::{drain_to_json, namespace_to_json};
use super::policies::PolicyTables;
use super::schema::{EPOCH, GRANTS, HOST_DRAINS, LOADS, META, NAMESPACES, Pair, SHARD_DRAINS};
use crate::load_chunks;
use crate::record::{DrainRecord, NamespaceRecord, Write};
use crate::{Epoch, Error};

/// The epoch in force after a change, or why it was refused.
pub(super) type Verdict = Result<Epoch, Error>;

pub(super) struct Tables<'txn> {
    meta: Table<'txn, &'static str, u64>,
    namespaces: Table<'txn, &'static [u8], (u64, u64, &'static [u8])>,
    grants: Table<'txn, Pair, (u64, &'static [u8])>,
    shard_drains: Table<'txn, Pair, &'static [u8]>,
    host_drains: Table<'txn, Pair, &'static [u8]>,
    loads: Table<'txn, (&'static [u8], u32), &'static [u8]>,
    pub(super) policies: PolicyTables<'txn>,
}

impl<'txn> Tables<'txn> {
    pub(super) fn open(transaction: &'txn WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            meta: transaction.open_table(META)?,
            namespaces: transaction.open_table(NAMESPACES)?,
            grants: transaction.open_table(GRANTS)?,
            shard_drains: transaction.open_table(SHARD_DRAINS)?,
            host_drains: transaction.open_table(HOST_DRAINS)?,
            loads: transaction.open_table(LOADS)?,
            policies: PolicyTables::open(transaction)?,
        })
    }

    pub(super) fn create(
        &mut self,
        record: &NamespaceRecord,
        initial: &[Write],
    ) -> Result<Verdict, redb::Error> {
        if self.head(&record.name)?.is_some() {
            return Ok(Err(Error::Exists { namespace: Arc::clone(&record.name) }));
        }
        if let Err(refusal) = Error::check_names(&record.name, initial) {
            return Ok(Err(refusal));
        }
        let json = namespace_to_json(record)?;
        let head = Head { epoch: self.next_epoch()?, generation_floor: 0, json };
        self.put_head(&record.name, &head)?;
        self.write_all(&record.name, initial)?;
        Ok(Ok(head.epoch))
    }

    pub(super) fn delete(&mut self, namespace: &Arc<str>) -> Result<Verdict, redb::Error> {
        let Some(head) = self.head(namespace)? else { return Ok(not_found(namespace)) };
        self.namespaces.remove(namespace.as_bytes())?;
        clear(&mut self.grants, namespace)?;
        clear(&mut self.shard_drains, namespace)?;
        clear(&mut self.host_drains, namespace)?;
        self.loads.retain_in(chunks_of(namespace), |_, _| false)?;
        Ok(Ok(head.epoch))
    }

    pub(super) fn lead(&mut self, namespace: &Arc<str>) -> Result<Verdict, redb::Error> {
        let Some(mut head) = self.head(namespace)? else { return Ok(not_found(namespace)) };
        head.epoch = self.next_epoch()?;
        self.put_head(namespace, &head)?;
        Ok(Ok(head.epoch))
    }

    pub(super) fn commit(
        &mut self,
        namespace: &Arc<str>,
        epoch: Epoch,
        writes: &[Write],
    ) -> Result<Verdict, redb::Error> {
        let Some(current) = self.epoch(namespace)? else { return Ok(not_found(namespace)) };
        let allowed = Error::check_epoch(namespace, epoch, current)
            .and_then(|()| Error::check_names(namespace, writes));
        if let Err(refusal) = allowed {
            return Ok(Err(refusal));
        }
        self.write_all(namespace, writes)?;
        Ok(Ok(epoch))
    }

    fn write_all(&mut self, namespace: &str, writes: &[Write]) -> Result<(), redb::Error> {
        writes.iter().try_for_each(|write| self.write(namespace, write))
    }

    fn write(&mut self, namespace: &str, write: &Write) -> Result<(), redb::Error> {
        let key = |within| pair(namespace, within);
        match write {
            Write::Grant { shard, grant } => {
                let value = (grant.generation, grant.executor.as_bytes());
                self.grants.insert(key(shard), value)?;
            }
            Write::Release { shard } => drop(self.grants.remove(key(shard))?),
            Write::DrainShard { shard, drain } => put(&mut self.shard_drains, key(shard), drain)?,
            Write::UndrainShard { shard } => drop(self.shard_drains.remove(key(shard))?),
            Write::DrainHost { host, drain } => put(&mut self.host_drains, key(host), drain)?,
            Write::UndrainHost { host } => drop(self.host_drains.remove(key(host))?),
            Write::GenerationFloor(floor) => self.raise_floor(namespace, *floor)?,
            Write::Namespace(record) => self.replace_record(record)?,
            Write::Loads(loads) => self.replace_loads(namespace, loads)?,
        }
        Ok(())
    }

    fn raise_floor(&mut self, namespace: &str, floor: u64) -> Result<(), redb::Error> {
        self.edit_head(namespace, |head| {
            head.generation_floor = head.generation_floor.max(floor);
        })
    }

    fn replace_record(&mut self, record: &NamespaceRecord) -> Result<(), redb::Error> {
        let json = namespace_to_json(record)?;
        self.edit_head(&record.name, |head| head.json = json)
    }

    fn replace_loads(
        &mut self,
        namespace: &str,
        loads: &[(Arc<str>, f64)],
    ) -> Result<(), redb::Error> {
        let sorted: BTreeMap<_, _> = loads.iter().cloned().collect();
        let sorted: Vec<_> = sorted.into_iter().collect();
        self.loads.retain_in(chunks_of(namespace), |_, _| false)?;
        for (number, chunk) in (0..).zip(load_chunks::split(&sorted)) {
            self.loads.insert((namespace.as_bytes(), number), chunk.as_slice())?;
        }
        Ok(())
    }

    fn next_epoch(&mut self) -> Result<Epoch, redb::Error> {
        let last = self.meta.get(EPOCH)?.map_or(0, |epoch| epoch.value());
        self.meta.insert(EPOCH, last + 1)?;
        Ok(Epoch(last + 1))
    }

    fn epoch(&self, namespace: &str) -> Result<Option<Epoch>, redb::Error> {
        Ok(self.namespaces.get(namespace.as_bytes())?.map(|head| Epoch(head.value().0)))
    }

    fn head(&self, namespace: &str) -> Result<Option<Head>, redb::Error> {
        Ok(self.namespaces.get(namespace.as_bytes())?.map(|head| Head::from(head.value())))
    }

    fn put_head(&mut self, namespace: &str, head: &Head) -> Result<(), redb::Error> {
        let value = (head.epoch.0, head.generation_floor, head.json.as_slice());
        self.namespaces.insert(namespace.as_bytes(), value)?;
        Ok(())
    }

    fn edit_head(
        &mut self,
        namespace: &str,
        edit: impl FnOnce(&mut Head),
    ) -> Result<(), redb::Error> {
        let Some(mut head) = self.head(namespace)? else { return Ok(()) };
        edit(&mut head);
        self.put_head(namespace, &head)
    }
}

/// What there is once a namespace.
struct Head {
    epoch: Epoch,
    generation_floor: u64,
    json: Vec<u8>,
}

impl From<(u64, u64, &[u8])> for Head {
    fn from((epoch, generation_floor, json): (u64, u64, &[u8])) -> Self {
        Self { epoch: Epoch(epoch), generation_floor, json: json.to_vec() }
    }
}

fn not_found(namespace: &Arc<str>) -> Verdict {
    Err(Error::NotFound { namespace: Arc::clone(namespace) })
}

fn put(
    table: &mut Table<'_, Pair, &'static [u8]>,
    key: (&[u8], &[u8]),
    drain: &DrainRecord,
) -> Result<(), redb::Error> {
    table.insert(key, drain_to_json(drain)?.as_slice())?;
    Ok(())
}

fn clear<V: Value>(table: &mut Table<'_, Pair, V>, namespace: &str) -> Result<(), redb::Error> {
    let end = successor(namespace);
    table.retain_in(pair(namespace, "")..(end.as_slice(), b"".as_slice()), |_, _| false)?;
    Ok(())
}

/// The entries of a namespace, in order of the key within it.
pub(super) fn keys_of<'t, V: Value>(
    table: &'t impl ReadableTable<Pair, V>,
    namespace: &str,
) -> Result<Range<'t, Pair, V>, redb::Error> {
    let end = successor(namespace);
    Ok(table.range(pair(namespace, "")..(end.as_slice(), b"".as_slice()))?)
}

/// The keys of a namespace's chunks of loads.
pub(super) fn chunks_of(namespace: &str) -> RangeInclusive<(&[u8], u32)> {
    (namespace.as_bytes(), 0)..=(namespace.as_bytes(), u32::MAX)
}

fn pair<'a>(namespace: &'a str, within: &'a str) -> (&'a [u8], &'a [u8]) {
    (namespace.as_bytes(), within.as_bytes())
}

/// The name that comes right after `namespace`.
fn successor(namespace: &str) -> Vec<u8> {
    [namespace.as_bytes(), &[0]].concat()
}
