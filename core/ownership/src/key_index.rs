//! Finds a shard by its key. The keys live with the shards: at a million of them
//! a map that held them too would cost as much again.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use slab::Slab;

use crate::ids::ShardId;
use crate::shard::Shard;

/// From key to shard, over the shards of one slab.
#[derive(Debug, Default)]
pub(crate) struct KeyIndex {
    table: HashTable<ShardId>,
    /// Seeded: keys come from the network.
    hasher: RandomState,
}

impl KeyIndex {
    pub(crate) fn find(&self, shards: &Slab<Shard>, key: &str) -> Option<ShardId> {
        self.table.find(self.hasher.hash_one(key), |id| key_of(shards, *id) == key).copied()
    }

    /// Adds a shard that is in the slab and not yet in the index.
    pub(crate) fn insert(&mut self, shards: &Slab<Shard>, id: ShardId) {
        let hasher = &self.hasher;
        let hash = |id: &ShardId| hasher.hash_one(key_of(shards, *id));
        self.table.insert_unique(hash(&id), id, hash);
    }

    /// Takes a shard out that is still in the slab.
    pub(crate) fn remove(&mut self, shards: &Slab<Shard>, id: ShardId) {
        let hash = self.hasher.hash_one(key_of(shards, id));
        if let Ok(entry) = self.table.find_entry(hash, |other| *other == id) {
            entry.remove();
        }
    }

    pub(crate) fn reserve(&mut self, shards: &Slab<Shard>, more: usize) {
        let hasher = &self.hasher;
        self.table.reserve(more, |id| hasher.hash_one(key_of(shards, *id)));
    }
}

/// The key of an indexed shard, which is always in the slab.
fn key_of(shards: &Slab<Shard>, id: ShardId) -> &str {
    shards.get(id.slot()).map_or("", |shard| &shard.key)
}

#[cfg(test)]
mod tests {
    use plimsoll_placement::time::Time;

    use super::*;

    #[test]
    fn what_is_added_is_found_until_it_is_taken_out() {
        let (mut shards, mut index) = (Slab::new(), KeyIndex::default());
        let ids: Vec<_> = (0..1000)
            .map(|n| {
                let id = ShardId::of(shards.insert(Shard::new(n.to_string().into(), Time::ZERO)));
                index.insert(&shards, id);
                id
            })
            .collect();
        index.remove(&shards, ids[7]);
        shards.remove(ids[7].slot());
        assert_eq!(index.find(&shards, "7"), None);
        assert_eq!(index.find(&shards, "8"), Some(ids[8]));
        assert_eq!(index.find(&shards, "1000"), None);
    }
}
