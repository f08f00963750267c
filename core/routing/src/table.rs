//! The map itself. A table changes only by a whole snapshot or by the delta that
//! continues it; anything else is refused and leaves it as it was, so that a
//! reader never sees half of a change or a hole.
//!
//! Size: 32 bytes a shard in the hash table (at a load of 7/16 to 7/8), and one
//! shared copy of the key with 16 bytes of counters: about 100 bytes a shard
//! beside the text of the key.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use crate::executors::{Executors, Slot};
use crate::{Delta, RouteChange, RoutedExecutor, SnapshotPart};

/// Who owns which shard, as of one revision of one epoch.
#[derive(Clone, Debug, Default)]
pub struct Table {
    epoch: Arc<str>,
    revision: u64,
    map: Map,
    /// When the server last confirmed this map.
    heard: Option<Time>,
    /// The snapshot whose last part has not come yet.
    collecting: Option<Collecting>,
}

/// What a table knows of a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lookup<'a> {
    Owner(Route<'a>),
    /// An operator ordered that the shard carries no work, whoever still owns it.
    Drained,
    /// Nobody owns it, as far as this table knows.
    Unknown,
}

/// A shard's owner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route<'a> {
    pub executor: &'a Arc<RoutedExecutor>,
    /// The fencing token of the grant.
    pub generation: u64,
}

/// What a part of a snapshot led to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Applied {
    /// More parts must come; lookups still answer from the earlier map.
    Collecting,
    /// It was the last part: the map is the snapshot's.
    Replaced,
}

/// A change that does not fit. The map is as it was; what heals it is a new
/// snapshot.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Rejected {
    #[error("the table is at revision {have}, the change starts from {from}: changes were missed")]
    Gap { have: u64, from: u64 },
    #[error("the delta leads back from revision {from} to {to}")]
    Backwards { from: u64, to: u64 },
    #[error("a change came before the first snapshot")]
    NoSnapshot,
    #[error("a part of snapshot {epoch}/{revision} came without the parts before it")]
    PartOutOfOrder { epoch: Arc<str>, revision: u64 },
    #[error("shard {shard} goes to executor {executor}, which was never introduced")]
    UnknownExecutor { shard: Arc<str>, executor: Arc<str> },
}

#[derive(Clone, Debug)]
struct Collecting {
    epoch: Arc<str>,
    revision: u64,
    map: Map,
}

#[derive(Clone, Debug, Default)]
struct Map {
    executors: Executors,
    routes: HashMap<Arc<str>, Owned>,
    drained: BTreeSet<Arc<str>>,
}

#[derive(Clone, Copy, Debug)]
struct Owned {
    executor: Slot,
    generation: u64,
}

const _: () = assert!(size_of::<(Arc<str>, Owned)>() == 32, "the head of this file says so");

// === impl Table ===

impl Table {
    /// A table that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one part of a snapshot; the last part replaces the map.
    ///
    /// # Errors
    /// `PartOutOfOrder` if it does not continue the parts before it and
    /// `UnknownExecutor` if a route's owner was not introduced. The parts
    /// collected so far are dropped then.
    pub fn apply_part(&mut self, now: Time, part: SnapshotPart) -> Result<Applied, Rejected> {
        let last = part.last;
        let mut collecting = self.continued_by(&part)?;
        collecting.map.add(part)?;
        if last {
            self.replace(now, collecting);
            return Ok(Applied::Replaced);
        }
        self.collecting = Some(collecting);
        Ok(Applied::Collecting)
    }

    /// Takes the map to the delta's revision.
    ///
    /// # Errors
    /// `NoSnapshot` before the first snapshot, `Gap` if the delta does not start
    /// at this table's revision, `Backwards` and `UnknownExecutor` if it makes no
    /// sense. Nothing has changed then.
    pub fn apply_delta(&mut self, now: Time, delta: &Delta) -> Result<(), Rejected> {
        self.expect_revision(delta.from)?;
        if delta.to < delta.from {
            return Err(Rejected::Backwards { from: delta.from, to: delta.to });
        }
        self.map.check(delta)?;
        self.map.apply(delta)?;
        self.revision = delta.to;
        self.heard = Some(now);
        Ok(())
    }

    /// Notes that the server still knows of nothing newer than `revision`.
    ///
    /// # Errors
    /// `NoSnapshot` before the first snapshot, `Gap` if this table is at another
    /// revision: then changes were missed.
    pub fn keep_alive(&mut self, now: Time, revision: u64) -> Result<(), Rejected> {
        self.expect_revision(revision)?;
        self.heard = Some(now);
        Ok(())
    }

    /// Who owns the shard. Allocates nothing.
    pub fn lookup(&self, key: &str) -> Lookup<'_> {
        if !self.map.drained.is_empty() && self.map.drained.contains(key) {
            return Lookup::Drained;
        }
        match self.map.routes.get(key) {
            Some(owned) => Lookup::Owner(self.map.route(*owned)),
            None => Lookup::Unknown,
        }
    }

    /// The revision of the map; zero before the first snapshot.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The epoch of the map; empty before the first snapshot.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Whether a whole snapshot has come.
    pub fn is_loaded(&self) -> bool {
        self.heard.is_some()
    }

    /// How long ago the server last confirmed the map; `None` before the first
    /// snapshot.
    pub fn age(&self, now: Time) -> Option<Duration> {
        self.heard.map(|heard| now.since(heard))
    }

    /// Every shard that has an owner, drained ones too, in order of key.
    pub fn routes(&self) -> Vec<(&Arc<str>, Route<'_>)> {
        #[expect(clippy::disallowed_methods, reason = "sorted before anybody sees it")]
        let mut routes: Vec<_> = self.map.routes.iter().collect();
        routes.sort_unstable_by_key(|(shard, _)| *shard);
        routes.into_iter().map(|(shard, owned)| (shard, self.map.route(*owned))).collect()
    }

    /// Every known executor in order of id, those without shards too.
    pub fn executors(&self) -> impl Iterator<Item = &Arc<RoutedExecutor>> {
        self.map.executors.iter()
    }

    /// A known executor.
    pub fn executor(&self, id: &str) -> Option<&Arc<RoutedExecutor>> {
        self.map.executors.find(id)
    }

    /// Every drained shard in order of key.
    pub fn drained(&self) -> impl Iterator<Item = &Arc<str>> {
        self.map.drained.iter()
    }

    /// How many shards have an owner.
    pub fn len(&self) -> usize {
        self.map.routes.len()
    }

    /// Whether no shard has an owner.
    pub fn is_empty(&self) -> bool {
        self.map.routes.is_empty()
    }

    /// The whole table as a snapshot in parts of at most `size` routes and
    /// drained shards (at least one), never empty. All executors are in the
    /// first part.
    pub fn parts(&self, size: usize) -> Vec<SnapshotPart> {
        let routes: Vec<_> = self.routes().into_iter().map(RouteChange::from).collect();
        let drained: Vec<_> = self.drained().cloned().collect();
        let size = size.max(1);
        let count = routes.len().div_ceil(size).max(drained.len().div_ceil(size)).max(1);
        let mut parts: Vec<_> = (0..count).map(|_| self.empty_part()).collect();
        for (part, routes) in parts.iter_mut().zip(routes.chunks(size)) {
            part.routes = routes.to_vec();
        }
        for (part, drained) in parts.iter_mut().zip(drained.chunks(size)) {
            part.drained = drained.to_vec();
        }
        parts[0].first = true;
        parts[0].executors = self.executors().cloned().collect();
        parts[count - 1].last = true;
        parts
    }

    fn empty_part(&self) -> SnapshotPart {
        SnapshotPart {
            epoch: Arc::clone(&self.epoch),
            revision: self.revision,
            ..SnapshotPart::default()
        }
    }

    fn continued_by(&mut self, part: &SnapshotPart) -> Result<Collecting, Rejected> {
        if part.first {
            return Ok(Collecting::begin(part));
        }
        match self.collecting.take() {
            Some(earlier) if earlier.is_of(part) => Ok(earlier),
            _ => Err(Rejected::PartOutOfOrder {
                epoch: Arc::clone(&part.epoch),
                revision: part.revision,
            }),
        }
    }

    fn replace(&mut self, now: Time, complete: Collecting) {
        *self = Self {
            epoch: complete.epoch,
            revision: complete.revision,
            map: complete.map,
            heard: Some(now),
            collecting: None,
        };
    }

    fn expect_revision(&self, from: u64) -> Result<(), Rejected> {
        if !self.is_loaded() {
            return Err(Rejected::NoSnapshot);
        }
        if from != self.revision {
            return Err(Rejected::Gap { have: self.revision, from });
        }
        Ok(())
    }
}

impl From<(&Arc<str>, Route<'_>)> for RouteChange {
    fn from((shard, route): (&Arc<str>, Route<'_>)) -> Self {
        Self {
            shard: Arc::clone(shard),
            executor: Arc::clone(&route.executor.id),
            generation: route.generation,
        }
    }
}

// === impl Collecting ===

impl Collecting {
    fn begin(part: &SnapshotPart) -> Self {
        Self { epoch: Arc::clone(&part.epoch), revision: part.revision, map: Map::default() }
    }

    fn is_of(&self, part: &SnapshotPart) -> bool {
        self.epoch == part.epoch && self.revision == part.revision
    }
}

// === impl Map ===

impl Map {
    fn route(&self, owned: Owned) -> Route<'_> {
        Route { executor: self.executors.get(owned.executor), generation: owned.generation }
    }

    fn add(&mut self, part: SnapshotPart) -> Result<(), Rejected> {
        for executor in part.executors {
            self.executors.put(executor);
        }
        for change in &part.routes {
            self.set(change)?;
        }
        self.drained.extend(part.drained);
        Ok(())
    }

    /// Whether every route's owner is known or introduced by the delta itself.
    fn check(&self, delta: &Delta) -> Result<(), Rejected> {
        let introduced: BTreeSet<&str> = delta.executors.iter().map(|e| &*e.id).collect();
        let known = |id: &str| introduced.contains(id) || self.executors.contains(id);
        match delta.routes.iter().find(|change| !known(&change.executor)) {
            Some(change) => Err(unknown_executor(change)),
            None => Ok(()),
        }
    }

    fn apply(&mut self, delta: &Delta) -> Result<(), Rejected> {
        for executor in &delta.executors {
            self.executors.put(Arc::clone(executor));
        }
        for change in &delta.routes {
            self.set(change)?;
        }
        for shard in &delta.unowned {
            self.unset(shard);
        }
        self.drained.extend(delta.drained.iter().cloned());
        for shard in &delta.undrained {
            self.drained.remove(shard);
        }
        for id in &delta.gone_executors {
            self.executors.retire(id);
        }
        Ok(())
    }

    fn set(&mut self, change: &RouteChange) -> Result<(), Rejected> {
        let Some(executor) = self.executors.take(&change.executor) else {
            return Err(unknown_executor(change));
        };
        let owned = Owned { executor, generation: change.generation };
        match self.routes.get_mut(&change.shard) {
            Some(earlier) => {
                let before = std::mem::replace(earlier, owned).executor;
                self.executors.release(before);
            }
            None => {
                self.routes.insert(Arc::clone(&change.shard), owned);
            }
        }
        Ok(())
    }

    fn unset(&mut self, shard: &str) {
        if let Some(owned) = self.routes.remove(shard) {
            self.executors.release(owned.executor);
        }
    }
}

fn unknown_executor(change: &RouteChange) -> Rejected {
    Rejected::UnknownExecutor {
        shard: Arc::clone(&change.shard),
        executor: Arc::clone(&change.executor),
    }
}

#[cfg(test)]
mod tests;
