//! The etcd store against a real etcd, which each test binary starts for itself.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "etcd/cluster.rs"]
mod cluster;
#[path = "etcd/damage.rs"]
mod damage;
#[path = "etcd/elections.rs"]
mod elections;
#[path = "etcd/large.rs"]
mod large;
#[path = "etcd/link.rs"]
mod link;
#[path = "etcd/members.rs"]
mod members;
#[path = "etcd/quota.rs"]
mod quota;
#[path = "etcd/raw.rs"]
mod raw;
#[path = "etcd/secure.rs"]
mod secure;
#[path = "etcd/watch.rs"]
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use plimsoll_store::conformance::Place;
use plimsoll_store::record::{GrantRecord, Kind, NamespaceRecord, Write};
use plimsoll_store::{Answer, EtcdOptions, EtcdStore, Store};

/// A prefix of its own in the etcd of this test binary.
#[derive(Debug)]
struct Prefix(String);

impl Prefix {
    fn fresh() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self(format!("/test-{}/", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    async fn store(&self) -> EtcdStore {
        let prefix = Some(self.0.clone());
        let options = EtcdOptions { prefix, ..EtcdOptions::new([cluster::shared()]) };
        EtcdStore::connect(&options).await.unwrap()
    }
}

fn orders() -> NamespaceRecord {
    let (name, kind) = ("orders".into(), Kind::Ephemeral);
    NamespaceRecord { name, kind, settings: Vec::new(), frozen: false }
}

fn grant(shard: &str, generation: u64) -> Write {
    let grant = GrantRecord { executor: "host-1".into(), generation };
    Write::Grant { shard: shard.into(), grant }
}

impl Place for Prefix {
    fn open(&self) -> Answer<'_, Arc<dyn Store>> {
        let prefix = Some(self.0.clone());
        let options = EtcdOptions { prefix, ..EtcdOptions::new([cluster::shared()]) };
        async move { Ok(Arc::new(EtcdStore::connect(&options).await?) as Arc<dyn Store>) }.boxed()
    }
}

plimsoll_store::conformance_tests!(Prefix::fresh());
