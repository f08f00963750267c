//! A store as the tests need it: what was acknowledged, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_ownership::record::{DrainRecord, GrantRecord, NamespaceRecord, Stored, Write};

#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) record: NamespaceRecord,
    pub(crate) grants: BTreeMap<Arc<str>, GrantRecord>,
    pub(crate) drained_shards: BTreeMap<Arc<str>, DrainRecord>,
    pub(crate) drained_hosts: BTreeMap<Arc<str>, DrainRecord>,
    pub(crate) generation_floor: u64,
    loads: Vec<(Arc<str>, f64)>,
}

impl Store {
    pub(crate) fn new(record: NamespaceRecord) -> Self {
        Self {
            record,
            grants: BTreeMap::new(),
            drained_shards: BTreeMap::new(),
            drained_hosts: BTreeMap::new(),
            generation_floor: 0,
            loads: Vec::new(),
        }
    }

    pub(crate) fn apply(&mut self, batch: &[Write]) {
        for write in batch {
            self.apply_one(write.clone());
        }
    }

    fn apply_one(&mut self, write: Write) {
        match write {
            Write::Grant { shard, grant } => drop(self.grants.insert(shard, grant)),
            Write::Release { shard } => drop(self.grants.remove(&shard)),
            Write::DrainShard { shard, drain } => drop(self.drained_shards.insert(shard, drain)),
            Write::UndrainShard { shard } => drop(self.drained_shards.remove(&shard)),
            Write::DrainHost { host, drain } => drop(self.drained_hosts.insert(host, drain)),
            Write::UndrainHost { host } => drop(self.drained_hosts.remove(&host)),
            Write::GenerationFloor(floor) => self.generation_floor = floor,
            Write::Namespace(record) => self.record = record,
            Write::Loads(loads) => self.loads = loads,
        }
    }

    pub(crate) fn stored(&self) -> Stored {
        Stored {
            grants: self.grants.clone().into_iter().collect(),
            drained_shards: self.drained_shards.clone().into_iter().collect(),
            drained_hosts: self.drained_hosts.clone().into_iter().collect(),
            generation_floor: self.generation_floor,
            loads: self.loads.clone(),
        }
    }
}
