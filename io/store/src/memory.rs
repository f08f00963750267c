//! A store that forgets: for trials, tests, and servers that rebuild ownership from
//! what executors report. It writes nothing anywhere.

mod policies;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future;
use parking_lot::Mutex;

use self::policies::PolicyBook;
use crate::record::{DrainRecord, GrantRecord, NamespaceRecord, Stored, Write};
use crate::{Answer, Epoch, Error, Store};

/// Keeps namespaces and policies in memory, with the semantics of the durable stores.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    policies: PolicyBook,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn is_durable(&self) -> bool {
        false
    }

    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRecord>> {
        let state = self.state.lock();
        ready(Ok(state.namespaces.values().map(|space| space.record.clone()).collect()))
    }

    fn create(&self, record: NamespaceRecord, initial: Vec<Write>) -> Answer<'_, ()> {
        ready(self.state.lock().create(record, initial))
    }

    fn delete(&self, namespace: &str) -> Answer<'_, ()> {
        ready(self.state.lock().delete(namespace))
    }

    fn lead(&self, namespace: &str) -> Answer<'_, Epoch> {
        ready(self.state.lock().lead(namespace))
    }

    fn load(&self, namespace: &str) -> Answer<'_, Stored> {
        ready(self.state.lock().space(namespace).map(|space| space.stored()))
    }

    fn commit(&self, namespace: &str, epoch: Epoch, writes: Vec<Write>) -> Answer<'_, ()> {
        ready(self.state.lock().commit(namespace, epoch, writes))
    }
}

fn ready<'a, T: Send + 'a>(result: Result<T, Error>) -> Answer<'a, T> {
    future::ready(result).boxed()
}

#[derive(Debug, Default)]
struct State {
    namespaces: BTreeMap<Arc<str>, Space>,
    /// The highest epoch given out, of all namespaces.
    epoch: Epoch,
}

impl State {
    fn create(&mut self, record: NamespaceRecord, initial: Vec<Write>) -> Result<(), Error> {
        let name = Arc::clone(&record.name);
        if self.namespaces.contains_key(&name) {
            return Err(Error::Exists { namespace: name });
        }
        Error::check_names(&name, &initial)?;
        let mut space = Space::new(record, self.next_epoch());
        space.apply_all(initial);
        self.namespaces.insert(name, space);
        Ok(())
    }

    fn delete(&mut self, namespace: &str) -> Result<(), Error> {
        match self.namespaces.remove(namespace) {
            Some(_) => Ok(()),
            None => Err(Error::NotFound { namespace: namespace.into() }),
        }
    }

    fn lead(&mut self, namespace: &str) -> Result<Epoch, Error> {
        self.space(namespace)?;
        let epoch = self.next_epoch();
        self.space(namespace)?.epoch = epoch;
        Ok(epoch)
    }

    fn commit(&mut self, namespace: &str, epoch: Epoch, writes: Vec<Write>) -> Result<(), Error> {
        let space = self.space(namespace)?;
        Error::check_epoch(namespace, epoch, space.epoch)?;
        Error::check_names(namespace, &writes)?;
        space.apply_all(writes);
        Ok(())
    }

    fn space(&mut self, namespace: &str) -> Result<&mut Space, Error> {
        self.namespaces
            .get_mut(namespace)
            .ok_or_else(|| Error::NotFound { namespace: namespace.into() })
    }

    fn next_epoch(&mut self) -> Epoch {
        self.epoch.0 += 1;
        self.epoch
    }
}

/// One namespace.
#[derive(Debug)]
struct Space {
    record: NamespaceRecord,
    epoch: Epoch,
    grants: BTreeMap<Arc<str>, GrantRecord>,
    drained_shards: BTreeMap<Arc<str>, DrainRecord>,
    drained_hosts: BTreeMap<Arc<str>, DrainRecord>,
    generation_floor: u64,
    loads: BTreeMap<Arc<str>, f64>,
}

impl Space {
    fn new(record: NamespaceRecord, epoch: Epoch) -> Self {
        Self {
            record,
            epoch,
            grants: BTreeMap::new(),
            drained_shards: BTreeMap::new(),
            drained_hosts: BTreeMap::new(),
            generation_floor: 0,
            loads: BTreeMap::new(),
        }
    }

    fn apply_all(&mut self, writes: Vec<Write>) {
        for write in writes {
            self.apply(write);
        }
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::Grant { shard, grant } => drop(self.grants.insert(shard, grant)),
            Write::Release { shard } => drop(self.grants.remove(&shard)),
            Write::DrainShard { shard, drain } => drop(self.drained_shards.insert(shard, drain)),
            Write::UndrainShard { shard } => drop(self.drained_shards.remove(&shard)),
            Write::DrainHost { host, drain } => drop(self.drained_hosts.insert(host, drain)),
            Write::UndrainHost { host } => drop(self.drained_hosts.remove(&host)),
            Write::GenerationFloor(floor) => {
                self.generation_floor = self.generation_floor.max(floor);
            }
            Write::Namespace(record) => self.record = record,
            Write::Loads(loads) => self.loads = loads.into_iter().collect(),
        }
    }

    fn stored(&self) -> Stored {
        Stored {
            grants: listed(&self.grants),
            drained_shards: listed(&self.drained_shards),
            drained_hosts: listed(&self.drained_hosts),
            generation_floor: self.generation_floor,
            loads: listed(&self.loads),
        }
    }
}

fn listed<V: Clone>(map: &BTreeMap<Arc<str>, V>) -> Vec<(Arc<str>, V)> {
    map.iter().map(|(key, value)| (Arc::clone(key), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Place;

    #[derive(Debug)]
    struct Memory;

    impl Place for Memory {
        fn open(&self) -> Answer<'_, Arc<dyn Store>> {
            ready(Ok(Arc::new(MemoryStore::new())))
        }
    }

    crate::conformance_tests!(Memory);
}
