//! What spectators are shown of one namespace: its map, and the changes that
//! led to it.
//!
//! Lookups and watches read here and never wait for the driver. One batch of
//! decisions is one revision. The last changes are kept, so that a watch that
//! was cut goes on from where it was.
//!
//! Where this server leads the namespace its driver writes the map; where another
//! does, the map follows that one's, with its epoch and revisions, so that a watch
//! goes on at any server. Watches outlive the leader.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use plimsoll_ownership::action::RouteChange as Change;
use plimsoll_ownership::namespace::Namespace;
use plimsoll_placement::time::Time;
use plimsoll_routing::{
    Applied, Delta, Lookup, Rejected, RouteChange, RoutedExecutor, SnapshotPart, Table,
};
use plimsoll_wire::v1::watch_response::Message as Watched;
use plimsoll_wire::{sharddistributor as go, v1};
use prost::Message;
use tokio::sync::watch;

/// Changes kept for watches that were cut.
const KEPT_CHANGES: usize = 100_000;
/// Routes in one message of a snapshot.
const PART_SIZE: usize = 10_000;

/// The map of one namespace, and how it became so.
#[derive(Debug, Default)]
pub struct Board {
    map: RwLock<Written>,
    past: Mutex<Past>,
    /// Counts the changes, over all epochs.
    changes: watch::Sender<u64>,
    /// The whole map on the Go wire after that many changes, encoded when first
    /// asked for.
    whole: Mutex<Option<(u64, Bytes)>>,
    /// The whole map on our own wire, likewise.
    parts: Mutex<Option<(u64, Whole)>>,
}

#[derive(Debug, Default)]
struct Written {
    table: Table,
    /// Whoever began to write last.
    writer: Writer,
}

/// The right to write on a board, until another one has it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Writer(u64);

/// Why something was not written.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotWritten {
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error("somebody else writes this map now")]
    Superseded,
}

/// The point that a watch has reached.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Held {
    pub epoch: Arc<str>,
    pub revision: u64,
}

/// A map as messages, in order.
#[derive(Clone, Debug)]
struct Whole {
    held: Held,
    parts: Arc<[Bytes]>,
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
    Snapshot { held: Held, parts: Arc<[Bytes]> },
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
    /// A board that shows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    // === written by the driver of a leader, or by whoever follows another leader ===

    /// From now on nobody else writes.
    pub fn begin(&self) -> Writer {
        let writer = &mut self.map.write().writer;
        writer.0 += 1;
        *writer
    }

    /// Shows the namespace as it stands. `epoch` tells the revisions from now on from
    /// those of every other leadership.
    pub fn restart(&self, now: Time, epoch: Arc<str>, namespace: &Namespace) -> Writer {
        let writer = self.begin();
        let written = self.replace(writer, now, whole_namespace(epoch, namespace));
        debug_assert!(written.is_ok(), "{written:?}");
        writer
    }

    /// Publishes a batch of changes as one revision.
    ///
    /// # Errors
    /// It does not fit the map, or somebody else writes it.
    pub fn publish(&self, by: Writer, now: Time, changes: Vec<Change>) -> Result<(), NotWritten> {
        self.write(by, |table| {
            let delta = merge(table.revision(), changes);
            self.apply(now, table, &delta)
        })
    }

    /// Adds a part of a snapshot; the last part replaces the map.
    ///
    /// # Errors
    /// It does not fit the parts before it, or somebody else writes the map.
    pub fn replace(&self, by: Writer, now: Time, part: SnapshotPart) -> Result<(), NotWritten> {
        self.write(by, |table| {
            if table.apply_part(now, part)? == Applied::Replaced {
                *self.past.lock() = Past::default();
                self.changes.send_modify(|changes| *changes += 1);
            }
            Ok(())
        })
    }

    /// Takes the map to the delta's revision.
    ///
    /// # Errors
    /// It does not continue the map, or somebody else writes it.
    pub fn follow(&self, by: Writer, now: Time, delta: &Delta) -> Result<(), NotWritten> {
        self.write(by, |table| self.apply(now, table, delta))
    }

    /// The leader knows of nothing newer than this revision.
    ///
    /// # Errors
    /// The map is at another one, or somebody else writes it.
    pub fn confirm(&self, by: Writer, now: Time, revision: u64) -> Result<(), NotWritten> {
        self.write(by, |table| table.keep_alive(now, revision))
    }

    fn write(
        &self,
        by: Writer,
        write: impl FnOnce(&mut Table) -> Result<(), Rejected>,
    ) -> Result<(), NotWritten> {
        let mut map = self.map.write();
        if map.writer != by {
            return Err(NotWritten::Superseded);
        }
        Ok(write(&mut map.table)?)
    }

    fn apply(&self, now: Time, table: &mut Table, delta: &Delta) -> Result<(), Rejected> {
        table.apply_delta(now, delta)?;
        self.past.lock().push(Encoded::from(delta));
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }

    // === read by everybody ===

    /// The epoch and revision of the map; `None` before there is one.
    pub fn held(&self) -> Option<Held> {
        let table = &self.map.read().table;
        table.is_loaded().then(|| held(table))
    }

    /// How long ago its leader confirmed the map; `None` before there is one.
    pub fn age(&self, now: Time) -> Option<Duration> {
        self.map.read().table.age(now)
    }

    /// Who owns a shard, as far as the map goes.
    pub fn find(&self, key: &str) -> Found {
        match self.map.read().table.lookup(key) {
            Lookup::Owner(route) => Found::Owner(Owner {
                executor: route.executor.clone(),
                generation: route.generation,
            }),
            Lookup::Drained => Found::Drained,
            Lookup::Unknown => Found::Unknown,
        }
    }

    /// Tells of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The present revision; zero before there is a map.
    pub fn revision(&self) -> u64 {
        self.map.read().table.revision()
    }

    /// What a watch needs that holds this; `None`: it holds nothing.
    pub fn since(&self, holds: Option<&Held>) -> Next {
        let table = &self.map.read().table;
        if !table.is_loaded() {
            return Next::Nothing;
        }
        let same_epoch = holds.filter(|holds| *holds.epoch == *table.epoch());
        // A replica may be behind the one that was asked before: it comes up to it.
        if same_epoch.is_some_and(|holds| holds.revision >= table.revision()) {
            return Next::Nothing;
        }
        match same_epoch.and_then(|holds| self.past.lock().since(holds.revision)) {
            Some(deltas) => Next::Deltas(deltas),
            None => self.snapshot(table),
        }
    }

    /// The whole map on the Go wire. Encoded once a revision, however many ask.
    pub fn whole(&self) -> Bytes {
        let table = &self.map.read().table;
        let mut whole = self.whole.lock();
        let changes = *self.changes.borrow();
        if let Some((made_at, state)) = &*whole
            && *made_at == changes
        {
            return state.clone();
        }
        let state = Bytes::from(go_state(table).encode_to_vec());
        *whole = Some((changes, state.clone()));
        state
    }

    /// The whole map on our own wire, likewise.
    fn snapshot(&self, table: &Table) -> Next {
        let mut cached = self.parts.lock();
        let changes = *self.changes.borrow();
        let whole = match &*cached {
            Some((made_at, whole)) if *made_at == changes => whole.clone(),
            _ => Whole::of(table),
        };
        *cached = Some((changes, whole.clone()));
        Next::Snapshot { held: whole.held, parts: whole.parts }
    }
}

impl Whole {
    fn of(table: &Table) -> Self {
        let part = |part: &SnapshotPart| encode(Watched::Snapshot(part.into()));
        Self { held: held(table), parts: table.parts(PART_SIZE).iter().map(part).collect() }
    }
}

fn held(table: &Table) -> Held {
    Held { epoch: table.epoch().into(), revision: table.revision() }
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
