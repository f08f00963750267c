//! What spectators are shown of one namespace: its map, and the changes that
//! led to it.
//!
//! Lookups and watches read here and never wait for the driver. One batch of
//! decisions is one revision. The last changes are kept, so that a watch that
//! was cut goes on from where it was.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use plimsoll_ownership::action::RouteChange as Change;
use plimsoll_ownership::namespace::Namespace;
use plimsoll_placement::time::Time;
use plimsoll_routing::{Delta, Lookup, RouteChange, RoutedExecutor, SnapshotPart, Table};
use plimsoll_wire::v1::watch_response::Message as Watched;
use plimsoll_wire::{sharddistributor as go, v1};
use prost::Message;
use tokio::sync::watch;

/// Changes kept for watches that were cut.
const KEPT_CHANGES: usize = 100_000;
/// Routes in one message of a snapshot.
const PART_SIZE: usize = 10_000;

/// The map of one namespace, and how it became so.
#[derive(Debug)]
pub struct Board {
    table: RwLock<Table>,
    past: Mutex<Past>,
    revision: watch::Sender<u64>,
    epoch: Arc<str>,
    /// The whole map on the Go wire, encoded when first asked for.
    whole: Mutex<Option<(u64, Bytes)>>,
    /// The whole map on our own wire, likewise.
    parts: Mutex<Option<(u64, Arc<[Bytes]>)>>,
}

#[derive(Debug, Default)]
struct Past {
    deltas: VecDeque<Arc<Encoded>>,
    changes: usize,
}

/// A delta as a watch sends it.
#[derive(Debug)]
pub struct Encoded {
    from: u64,
    pub to: u64,
    changes: usize,
    pub message: Bytes,
}

/// What a watch that holds some revision needs next.
#[derive(Debug)]
pub enum Next {
    /// Nothing: it is up to date.
    Nothing,
    /// These, in order.
    Deltas(Vec<Arc<Encoded>>),
    /// What it holds is too old, or of another epoch. Messages in order.
    Snapshot { revision: u64, parts: Arc<[Bytes]> },
}

/// The owner of a shard.
#[derive(Clone, Debug)]
pub struct Owner {
    pub executor: Arc<RoutedExecutor>,
    pub generation: u64,
}

/// What the map says of a shard.
#[derive(Clone, Debug)]
pub enum Found {
    Owner(Owner),
    Drained,
    Unknown,
}

impl Board {
    /// The board of a namespace as it stands. `epoch` tells the revisions of
    /// this board from those of every other.
    pub fn new(now: Time, epoch: Arc<str>, namespace: &Namespace) -> Self {
        let mut table = Table::new();
        let applied = table.apply_part(now, whole_namespace(epoch.clone(), namespace));
        debug_assert!(applied.is_ok(), "{applied:?}");
        let (revision, _) = watch::channel(table.revision());
        Self {
            table: RwLock::new(table),
            past: Mutex::default(),
            revision,
            epoch,
            whole: Mutex::default(),
            parts: Mutex::default(),
        }
    }

    /// Who owns a shard, as far as the map goes.
    pub fn find(&self, key: &str) -> Found {
        match self.table.read().lookup(key) {
            Lookup::Owner(route) => Found::Owner(Owner {
                executor: route.executor.clone(),
                generation: route.generation,
            }),
            Lookup::Drained => Found::Drained,
            Lookup::Unknown => Found::Unknown,
        }
    }

    /// Publishes a batch of changes as one revision.
    pub fn publish(&self, now: Time, changes: Vec<Change>) {
        let mut table = self.table.write();
        let delta = merge(table.revision(), changes);
        if let Err(rejected) = table.apply_delta(now, &delta) {
            drop(table);
            return tracing::error!(%rejected, "a change of the map does not fit it");
        }
        self.past.lock().push(Encoded::from(&delta));
        drop(table);
        self.revision.send_replace(delta.to);
    }

    /// Tells of every new revision.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// The present revision.
    pub fn revision(&self) -> u64 {
        *self.revision.borrow()
    }

    /// What a watch needs that holds this revision; `None`: none of this epoch.
    pub fn since(&self, held: Option<u64>) -> Next {
        if held == Some(self.revision()) {
            return Next::Nothing;
        }
        match held.and_then(|revision| self.past.lock().since(revision)) {
            Some(deltas) => Next::Deltas(deltas),
            None => self.snapshot(),
        }
    }

    /// The epoch of this board's revisions.
    pub fn epoch(&self) -> &Arc<str> {
        &self.epoch
    }

    /// The whole map on the Go wire. Encoded once a revision, however many ask.
    pub fn whole(&self) -> Bytes {
        let mut whole = self.whole.lock();
        let table = self.table.read();
        if let Some((revision, state)) = &*whole
            && *revision == table.revision()
        {
            return state.clone();
        }
        let state = Bytes::from(go_state(&table).encode_to_vec());
        *whole = Some((table.revision(), state.clone()));
        state
    }

    /// The whole map on our own wire, likewise.
    fn snapshot(&self) -> Next {
        let mut parts = self.parts.lock();
        let table = self.table.read();
        let revision = table.revision();
        if let Some((made_at, parts)) = &*parts
            && *made_at == revision
        {
            return Next::Snapshot { revision, parts: parts.clone() };
        }
        let made: Arc<[Bytes]> = table
            .parts(PART_SIZE)
            .iter()
            .map(|part| encode(Watched::Snapshot(part.into())))
            .collect();
        *parts = Some((revision, made.clone()));
        Next::Snapshot { revision, parts: made }
    }
}

fn encode(message: Watched) -> Bytes {
    v1::WatchResponse { message: Some(message) }.encode_to_vec().into()
}

impl From<&Delta> for Encoded {
    fn from(delta: &Delta) -> Self {
        let message = encode(Watched::Delta(delta.into()));
        Self { from: delta.from, to: delta.to, changes: size(delta), message }
    }
}

impl Past {
    fn push(&mut self, delta: Encoded) {
        self.changes += delta.changes;
        self.deltas.push_back(Arc::new(delta));
        while self.changes > KEPT_CHANGES && self.deltas.len() > 1 {
            if let Some(oldest) = self.deltas.pop_front() {
                self.changes -= oldest.changes;
            }
        }
    }

    /// The deltas that lead on from a revision; `None` if it is too old or
    /// unknown.
    fn since(&self, revision: u64) -> Option<Vec<Arc<Encoded>>> {
        let first = self.deltas.partition_point(|delta| delta.from < revision);
        let fits = self.deltas.get(first).is_some_and(|delta| delta.from == revision);
        fits.then(|| self.deltas.iter().skip(first).cloned().collect())
    }
}

fn size(delta: &Delta) -> usize {
    1 + delta.executors.len()
        + delta.routes.len()
        + delta.unowned.len()
        + delta.drained.len()
        + delta.undrained.len()
        + delta.gone_executors.len()
}

/// Merges a batch: of several changes of one thing the last counts.
fn merge(from: u64, changes: Vec<Change>) -> Delta {
    let mut routes: BTreeMap<Arc<str>, Option<(Arc<str>, u64)>> = BTreeMap::new();
    let mut drains: BTreeMap<Arc<str>, bool> = BTreeMap::new();
    let mut executors: BTreeMap<Arc<str>, Option<Arc<RoutedExecutor>>> = BTreeMap::new();
    for change in changes {
        match change {
            Change::Owned { shard, executor, generation } => {
                routes.insert(shard, Some((executor, generation)));
            }
            Change::Unowned { shard } => drop(routes.insert(shard, None)),
            Change::Drained { shard } => drop(drains.insert(shard, true)),
            Change::Undrained { shard } => drop(drains.insert(shard, false)),
            Change::Executor { id, metadata } => {
                let executor = RoutedExecutor { id: id.clone(), metadata: (*metadata).clone() };
                executors.insert(id, Some(Arc::new(executor)));
            }
            Change::ExecutorGone { id } => drop(executors.insert(id, None)),
        }
    }
    let mut delta = Delta { from, to: from + 1, ..Delta::default() };
    for (shard, owner) in routes {
        match owner {
            Some((executor, generation)) => {
                delta.routes.push(RouteChange { shard, executor, generation });
            }
            None => delta.unowned.push(shard),
        }
    }
    for (shard, drained) in drains {
        if drained { delta.drained.push(shard) } else { delta.undrained.push(shard) }
    }
    for (id, executor) in executors {
        match executor {
            Some(executor) => delta.executors.push(executor),
            None => delta.gone_executors.push(id),
        }
    }
    delta
}

fn whole_namespace(epoch: Arc<str>, namespace: &Namespace) -> SnapshotPart {
    let executor = |id: &Arc<str>, metadata: &BTreeMap<String, String>| {
        Arc::new(RoutedExecutor { id: id.clone(), metadata: metadata.clone() })
    };
    let route = |(shard, executor, generation): (&Arc<str>, &Arc<str>, u64)| RouteChange {
        shard: shard.clone(),
        executor: executor.clone(),
        generation,
    };
    SnapshotPart {
        epoch,
        revision: 1,
        first: true,
        last: true,
        executors: namespace.executors().iter().map(|e| executor(e.id, e.metadata)).collect(),
        routes: namespace.routes().map(route).collect(),
        drained: namespace.drained_shards().keys().cloned().collect(),
    }
}

fn go_state(table: &Table) -> go::WatchNamespaceStateResponse {
    let mut executors: BTreeMap<Arc<str>, go::ExecutorInfo> = table
        .executors()
        .map(|executor| {
            let metadata = executor.metadata.clone().into_iter().collect();
            let id = executor.id.clone();
            let executor_id = id.to_string();
            (id, go::ExecutorInfo { executor_id, metadata, shards: Vec::new() })
        })
        .collect();
    for (shard, route) in table.routes() {
        if let Some(executor) = executors.get_mut(&route.executor.id) {
            executor.shards.push(go::Shard { shard_key: shard.to_string() });
        }
    }
    go::WatchNamespaceStateResponse {
        executors: executors.into_values().collect(),
        drained_shard_keys: table.drained().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(shard: &str, executor: &str, generation: u64) -> Change {
        Change::Owned { shard: shard.into(), executor: executor.into(), generation }
    }

    #[test]
    fn the_last_change_of_a_shard_counts() {
        let changes = vec![
            Change::Unowned { shard: "1".into() },
            owned("1", "a", 2),
            owned("2", "a", 3),
            Change::Unowned { shard: "2".into() },
        ];
        let delta = merge(4, changes);
        assert_eq!((delta.from, delta.to), (4, 5));
        assert_eq!(delta.routes.len(), 1);
        assert_eq!(delta.unowned, ["2".into()]);
    }

    #[test]
    fn a_watch_goes_on_from_what_is_kept_and_no_further_back() {
        let mut past = Past::default();
        for from in 5..9 {
            past.push(Encoded::from(&Delta { from, to: from + 1, ..Delta::default() }));
        }
        assert_eq!(past.since(6).map(|deltas| deltas.len()), Some(3));
        assert!(past.since(4).is_none());
        assert!(past.since(9).is_none());
    }
}
