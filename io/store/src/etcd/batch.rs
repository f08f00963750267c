//! A batch of writes as what etcd must hold afterwards.
//!
//! etcd refuses a transaction that touches a key twice, so a batch is folded first:
//! the last write to a key stands. What is left is cut into parts that fit into a
//! transaction.

use std::collections::BTreeMap;
use std::ops::Range;

use super::EtcdError;
use super::api::{DeleteRangeRequest, PutRequest, RequestOp, request_op::Request};
use super::keys::{Folder, Keys};
use crate::record::{GrantRecord, Write};
use crate::{json, load_chunks};

/// Operations in one transaction: etcd takes 128, some are for guards.
const OPERATIONS: usize = 100;
/// Bytes in one transaction: etcd takes 1.5 MiB, with everything around them.
const BYTES: usize = 1024 * 1024;

/// What keys must hold; `None`: nothing.
#[derive(Debug, Default)]
pub(super) struct Batch {
    keys: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// All keys in here must go.
    cleared: Vec<Range<Vec<u8>>>,
    /// The floor that these writes ask for.
    pub(super) floor: Option<u64>,
}

impl Batch {
    /// Folds the writes to one namespace. A floor is kept apart: only the store
    /// knows whether it would sink.
    pub(super) fn new(keys: &Keys, name: &str, writes: &[Write]) -> Result<Self, EtcdError> {
        let mut batch = Self::default();
        for write in writes {
            batch.add(keys, name, write)?;
        }
        Ok(batch)
    }

    fn add(&mut self, keys: &Keys, name: &str, write: &Write) -> Result<(), EtcdError> {
        let within = |folder, rest: &str| keys.within(folder, name, rest);
        match write {
            Write::Grant { shard, grant } => self.put(within(Folder::Grants, shard), told(grant)),
            Write::Release { shard } => self.delete(within(Folder::Grants, shard)),
            Write::DrainShard { shard, drain } => {
                let drain = json::from_drain(drain).map_err(|error| unwritable(name, &error))?;
                self.put(within(Folder::ShardDrains, shard), drain);
            }
            Write::UndrainShard { shard } => self.delete(within(Folder::ShardDrains, shard)),
            Write::DrainHost { host, drain } => {
                let drain = json::from_drain(drain).map_err(|error| unwritable(name, &error))?;
                self.put(within(Folder::HostDrains, host), drain);
            }
            Write::UndrainHost { host } => self.delete(within(Folder::HostDrains, host)),
            Write::GenerationFloor(floor) => self.floor = self.floor.max(Some(*floor)),
            Write::Namespace(record) => {
                let record =
                    json::from_namespace(record).map_err(|error| unwritable(name, &error))?;
                self.put(keys.of(Folder::Namespaces, name), record);
            }
            Write::Loads(loads) => {
                let sorted: BTreeMap<_, _> = loads.iter().cloned().collect();
                let sorted: Vec<_> = sorted.into_iter().collect();
                self.replace_loads(keys, name, &load_chunks::split(&sorted));
            }
        }
        Ok(())
    }

    pub(super) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.keys.insert(key, Some(value));
    }

    /// Takes out what a key must hold, so that it can go another way.
    pub(super) fn take(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        self.keys.remove(key).flatten()
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.keys.insert(key, None);
    }

    /// A range that is cleared and a key in it cannot be in one transaction, so only
    /// what lies behind the last new chunk is cleared.
    fn replace_loads(&mut self, keys: &Keys, name: &str, chunks: &[Vec<u8>]) {
        let all = keys.all_within(Folder::Loads, name);
        self.keys.retain(|key, _| !all.contains(key));
        self.cleared.retain(|range| !all.contains(&range.start));
        let place = |number: usize| keys.within(Folder::Loads, name, &format!("{number:08}"));
        for (number, chunk) in chunks.iter().enumerate() {
            self.put(place(number), chunk.clone());
        }
        self.cleared.push(place(chunks.len())..all.end);
    }

    /// As operations, in parts that each fit into a transaction; at least one.
    pub(super) fn into_parts(self) -> Vec<Vec<RequestOp>> {
        let puts = self.keys.into_iter().map(|(key, value)| match value {
            Some(value) => put(key, value),
            None => delete(key.clone()..Vec::new()),
        });
        let cleared = self.cleared.into_iter().map(delete);
        let mut parts = vec![Vec::new()];
        let mut bytes = 0;
        for operation in puts.chain(cleared) {
            let size = size(&operation);
            if parts.last().is_none_or(|part| part.len() >= OPERATIONS || bytes + size > BYTES) {
                parts.push(Vec::new());
                bytes = 0;
            }
            bytes += size;
            if let Some(part) = parts.last_mut() {
                part.push(operation);
            }
        }
        parts
    }
}

/// Puts a value.
pub(super) fn put(key: Vec<u8>, value: Vec<u8>) -> RequestOp {
    let request = Request::RequestPut(PutRequest { key, value, lease: 0 });
    RequestOp { request: Some(request) }
}

/// Puts a value that goes when the lease ends.
pub(super) fn put_leased(key: Vec<u8>, value: Vec<u8>, lease: i64) -> RequestOp {
    let request = Request::RequestPut(PutRequest { key, value, lease });
    RequestOp { request: Some(request) }
}

/// Deletes a range; one key if its end is empty.
pub(super) fn delete(range: Range<Vec<u8>>) -> RequestOp {
    let request = DeleteRangeRequest { key: range.start, range_end: range.end };
    RequestOp { request: Some(Request::RequestDeleteRange(request)) }
}

fn size(operation: &RequestOp) -> usize {
    const AROUND: usize = 64;
    AROUND
        + match &operation.request {
            Some(Request::RequestPut(put)) => put.key.len() + put.value.len(),
            Some(Request::RequestDeleteRange(range)) => range.key.len() + range.range_end.len(),
            Some(Request::RequestRange(_)) | None => 0,
        }
}

/// `generation executor`: can be read by people.
fn told(grant: &GrantRecord) -> Vec<u8> {
    format!("{} {}", grant.generation, grant.executor).into_bytes()
}

fn unwritable(name: &str, error: &serde_json::Error) -> EtcdError {
    EtcdError::Damaged { key: name.to_owned(), detail: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn grant(shard: &str, generation: u64) -> Write {
        Write::Grant {
            shard: shard.into(),
            grant: GrantRecord { executor: "a".into(), generation },
        }
    }

    fn batch(writes: &[Write]) -> Batch {
        Batch::new(&Keys::new(None), "orders", writes).unwrap()
    }

    #[test]
    fn the_last_write_to_a_key_stands() {
        let folded = batch(&[grant("1", 1), Write::Release { shard: "1".into() }, grant("1", 3)]);
        let parts = folded.into_parts();
        assert_eq!(parts, [[put(b"/plimsoll/grants/orders/1".to_vec(), b"3 a".to_vec())]]);
    }

    #[test]
    fn many_writes_make_many_parts() {
        let writes: Vec<_> = (0..250).map(|n| grant(&n.to_string(), 1)).collect();
        let sizes: Vec<_> = batch(&writes).into_parts().iter().map(Vec::len).collect();
        assert_eq!(sizes, [100, 100, 50]);
    }

    #[test]
    fn large_writes_make_small_parts() {
        let long: Arc<str> = "x".repeat(600_000).into();
        let drain = |shard: &str| Write::DrainShard {
            shard: shard.into(),
            drain: crate::record::DrainRecord { reason: long.to_string(), ..Default::default() },
        };
        assert_eq!(batch(&[drain("1"), drain("2")]).into_parts().len(), 2);
    }

    #[test]
    fn fewer_loads_clear_what_is_behind_them() {
        let loads = |n: usize| Write::Loads((0..n).map(|n| (n.to_string().into(), 1.0)).collect());
        let parts = batch(&[loads(10_000), loads(1)]).into_parts();
        let start = b"/plimsoll/loads/orders/00000001".to_vec();
        assert_eq!(parts[0].len(), 2);
        assert_eq!(parts[0][1], delete(start..b"/plimsoll/loads/orders0".to_vec()));
    }
}
