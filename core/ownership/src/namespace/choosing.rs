//! Where shards go that must go somewhere: by load, but first to executors of the
//! version that came last, as long as they have less than their fair share. So a
//! rolling upgrade moves shards onto hosts that have been restarted, and not onto
//! those that are about to be.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use plimsoll_placement::placer::{Candidate, Placer, Tally};
use plimsoll_placement::policy::Mode;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::ExecutorIndex;

use super::Namespace;
use crate::executor::Executor;
use crate::ids::ExecutorId;

/// Hands shards to executors, and counts what it hands out.
#[derive(Debug)]
pub(super) struct Chooser {
    mode: Mode,
    mean: f64,
    candidates: Vec<Candidate>,
    /// Executors of the newest version with what is left of their fair shares.
    newest: BinaryHeap<Room>,
    /// Made when nobody of the newest version has room.
    placer: Option<Placer>,
}

#[derive(Debug)]
struct Room {
    left: f64,
    id: Arc<str>,
    /// Among the candidates.
    place: usize,
}

impl Chooser {
    /// Who gets a shard; `None` if nobody is open. Its load counts from the next
    /// call on.
    pub(super) fn choose(&mut self, key_hash: u64, load: Option<f64>) -> Option<ExecutorId> {
        let chosen = match self.choose_newest(load) {
            Some(index) => Some(index),
            None => self.placer().place(key_hash, load),
        };
        chosen.map(|index| ExecutorId(index.0))
    }

    fn choose_newest(&mut self, load: Option<f64>) -> Option<ExecutorIndex> {
        let load = load.unwrap_or(self.mean);
        let weight = if self.mean > 0.0 { load } else { 1.0 };
        let mut room = self.newest.peek_mut().filter(|room| room.left >= weight / 2.0)?;
        room.left -= weight;
        let candidate = &mut self.candidates[room.place];
        candidate.tally.load += load;
        candidate.tally.shards += 1;
        Some(candidate.index)
    }

    fn placer(&mut self) -> &mut Placer {
        let Self { mode, mean, candidates, newest, placer } = self;
        placer.get_or_insert_with(|| {
            newest.clear();
            Placer::new(*mode, std::mem::take(candidates), *mean)
        })
    }
}

impl Namespace {
    /// A chooser over the open executors, from the running sums.
    pub(super) fn chooser(&self) -> Chooser {
        self.chooser_among(|_| true)
    }

    pub(super) fn chooser_among(&self, fits: impl Fn(ExecutorId) -> bool) -> Chooser {
        let mean = self.mean_shard_load();
        let mode = self.settings.policy.mode;
        let open: Vec<_> = self.open_executors().filter(|(id, _)| fits(*id)).collect();
        let candidates: Vec<_> = open.iter().map(|open| self.candidate(*open, mean)).collect();
        let newest = match newest_version(&open).filter(|_| mode != Mode::Ring) {
            Some(version) => self.rooms(&open, &candidates, version, mean),
            None => BinaryHeap::new(),
        };
        Chooser { mode, mean, candidates, newest, placer: None }
    }

    fn candidate(&self, (id, executor): (ExecutorId, &Executor), mean: f64) -> Candidate {
        Candidate {
            index: ExecutorIndex(id.0),
            id: executor.id.clone(),
            tally: tally(executor, mean),
            capacity: executor.capacity(&self.settings),
        }
    }

    /// What the executors of this version lack to their fair shares of everything.
    fn rooms(
        &self,
        open: &[(ExecutorId, &Executor)],
        candidates: &[Candidate],
        version: &str,
        mean: f64,
    ) -> BinaryHeap<Room> {
        let size = |capacity: f64| match self.settings.policy.mode {
            Mode::Adaptive => capacity,
            Mode::Ring | Mode::Naive | Mode::Greedy => 1.0,
        };
        let carried = |tally: Tally| if mean > 0.0 { tally.load } else { tally.shards as f64 };
        let sizes: f64 = candidates.iter().map(|it| size(it.capacity)).sum();
        let owned: f64 = self.executors.iter().map(|(_, e)| carried(tally(e, mean))).sum();
        let unowned = self.unowned.len() as f64 * if mean > 0.0 { mean } else { 1.0 };
        let share = (owned + unowned) / sizes;
        let of_version = |(place, (_, executor)): (usize, &(ExecutorId, &Executor))| {
            (executor.version() == Some(version)).then_some(place)
        };
        let room = |place: usize| {
            let Candidate { ref id, tally, capacity, .. } = candidates[place];
            Room { left: share * size(capacity) - carried(tally), id: id.clone(), place }
        };
        open.iter().enumerate().filter_map(of_version).map(room).collect()
    }

    /// Over the measured shards; 0 if there are none.
    fn mean_shard_load(&self) -> f64 {
        let (load, measured) = self.executors.iter().fold((0.0, 0), |(load, measured), (_, e)| {
            (load + e.load.max(0.0), measured + e.measured)
        });
        if measured == 0 { 0.0 } else { load / measured as f64 }
    }
}

/// The version whose first executor came last; `None` if there are not several, or
/// it is not known which came last.
fn newest_version<'a>(open: &[(ExecutorId, &'a Executor)]) -> Option<&'a str> {
    let mut first: BTreeMap<&str, Option<Time>> = BTreeMap::new();
    for (_, executor) in open {
        let since = executor.version_since;
        let earliest = first.entry(executor.version().unwrap_or_default()).or_insert(since);
        *earliest = (*earliest).min(since);
    }
    let latest = first.values().max().copied().flatten()?;
    let mut newest = first.into_iter().filter(|(_, since)| *since == Some(latest));
    let (version, _) = newest.next()?;
    let alone = newest.next().is_none() && open.iter().any(|(_, e)| e.version() != Some(version));
    (alone && !version.is_empty()).then_some(version)
}

fn tally(executor: &Executor, mean: f64) -> Tally {
    let unmeasured = executor.shards.len() - executor.measured;
    Tally { load: executor.load.max(0.0) + unmeasured as f64 * mean, shards: executor.shards.len() }
}

// The order of the heap: the most room first, then the lowest id.
impl Ord for Room {
    fn cmp(&self, other: &Self) -> Ordering {
        self.left.total_cmp(&other.left).then_with(|| other.id.cmp(&self.id))
    }
}

impl PartialOrd for Room {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Room {}

impl PartialEq for Room {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
