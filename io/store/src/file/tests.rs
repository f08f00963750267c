//! What only a file can do wrong.

mod faults;
mod kill;
mod opening;
mod power;

use tempfile::TempDir;

use super::*;
use crate::conformance::Place;
use crate::record::{GrantRecord, Kind};

crate::conformance_tests!(folder());

impl Place for TempDir {
    fn open(&self) -> Answer<'_, Arc<dyn Store>> {
        let opened = FileStore::open(self.path());
        futures::future::ready(opened.map(|store| Arc::new(store) as Arc<dyn Store>)).boxed()
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

const NAME: &str = "orders";

fn namespace() -> NamespaceRecord {
    let settings = Vec::new();
    NamespaceRecord { name: NAME.into(), kind: Kind::Ephemeral, settings, frozen: false }
}

fn grant(shard: impl Into<Arc<str>>, generation: u64) -> Write {
    let executor = "an executor with a name of some length".into();
    Write::Grant { shard: shard.into(), grant: GrantRecord { executor, generation } }
}

/// Grants `shards` shards with one and the same generation.
fn sweep(shards: u64, generation: u64) -> Vec<Write> {
    (0..shards).map(|shard| grant(format!("{shard:04}"), generation)).collect()
}
