//! Every namespace that there is, whoever leads it, with its map and its leader.
//!
//! A server alone lists what it leads. One of several lists what the store has, and
//! shows the map of each: its own, or a replica of its leader's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use plimsoll_ownership::record::{Kind, NamespaceRecord};
use plimsoll_ownership::settings::Settings;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::board::Board;

/// Every namespace, in order of name.
#[derive(Debug, Default)]
pub struct Listing {
    all: RwLock<BTreeMap<Arc<str>, Arc<Listed>>>,
}

/// One namespace.
#[derive(Debug)]
pub struct Listed {
    pub name: Arc<str>,
    pub kind: Kind,
    pub board: Arc<Board>,
    /// The longest lease that its executors may have been told, as last read.
    pub longest_lease: Duration,
    /// Who leads it, as far as this server knows.
    leader: watch::Sender<Option<LedBy>>,
    /// It is no more: it was deleted, or its only server goes down.
    pub gone: CancellationToken,
}

/// The leader of a namespace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LedBy {
    pub server: Arc<str>,
    /// `host:port` of its gRPC port.
    pub address: Arc<str>,
    pub epoch: u64,
}

impl Listing {
    /// The namespace of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Listed>> {
        self.all.read().get(name).cloned()
    }

    /// Every namespace, in order of name.
    pub fn all(&self) -> Vec<Arc<Listed>> {
        self.all.read().values().cloned().collect()
    }

    /// Lists a namespace; one that is listed already stays as it is.
    pub fn add(&self, record: &NamespaceRecord) -> Arc<Listed> {
        let mut all = self.all.write();
        let fresh = || Arc::new(Listed::new(record));
        all.entry(record.name.clone()).or_insert_with(fresh).clone()
    }

    /// Takes a namespace off the list, and tells whoever watches it.
    pub fn remove(&self, name: &str) -> Option<Arc<Listed>> {
        let removed = self.all.write().remove(name);
        if let Some(listed) = &removed {
            listed.gone.cancel();
        }
        removed
    }

    /// Lists exactly these. Returns what is on the list no more.
    pub fn sync(&self, records: &[NamespaceRecord]) -> Vec<Arc<Listed>> {
        for record in records {
            self.add(record);
        }
        let there: BTreeSet<_> = records.iter().map(|record| &record.name).collect();
        let all = self.all();
        let gone = all.iter().filter(|listed| !there.contains(&listed.name));
        gone.filter_map(|listed| self.remove(&listed.name)).collect()
    }
}

impl Listed {
    fn new(record: &NamespaceRecord) -> Self {
        let entries = record.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        // Settings that this version does not know keep it from being led, not from
        // being listed.
        let settings = Settings::from_entries(entries).unwrap_or_default();
        Self {
            name: record.name.clone(),
            kind: record.kind,
            board: Arc::new(Board::new()),
            longest_lease: settings.lease.max(settings.heartbeat_ttl),
            leader: watch::Sender::default(),
            gone: CancellationToken::new(),
        }
    }

    /// Who leads it; `None`: nobody, or nobody knows.
    pub fn leader(&self) -> Option<LedBy> {
        self.leader.borrow().clone()
    }

    /// Tells of every change of the leader.
    pub fn leaders(&self) -> watch::Receiver<Option<LedBy>> {
        self.leader.subscribe()
    }

    /// Notes who leads it.
    pub fn set_leader(&self, leader: Option<LedBy>) {
        self.leader.send_if_modified(|present| {
            let is_new = *present != leader;
            *present = leader;
            is_new
        });
    }
}
