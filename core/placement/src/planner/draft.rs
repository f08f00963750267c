//! A plan in the making: the ledger as it would be after the moves so far.
//!
//! Costs what is moved: for the rest it reads the ledger.

mod level;
mod moves;
mod standing;

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Count, Ledger, Measured};
use crate::load::Ordered;
use crate::measures::{Balance, Sum};
use crate::placer::{Candidate, Tally};
use crate::plan::{Move, Plan, Report};
use crate::policy::Policy;
use crate::standing::Standing;
use crate::time::Time;
use crate::view::{ExecutorIndex, ExecutorView, ShardIndex, ShardView};

use super::verdict::Verdict;
use super::{Desk, Outcome};

pub(super) use standing::Lent;

#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) now: Time,
    pub(super) policy: &'a Policy,
    ledger: &'a Ledger,
    measured: Measured,
    /// How open hosts stand, but for those whose figures are stale.
    standing: Standing,
    /// Executors that have been touched since.
    stale: Vec<ExecutorIndex>,
    /// Of executors that were touched before moves for balance: whether they had
    /// nothing then.
    empty: BTreeMap<ExecutorIndex, bool>,
    /// Whether a round of moves for balance has been made.
    second_look: bool,
    desk: Desk,
    /// A shard that came home again leaves a gap.
    moves: Vec<Option<Move>>,
    /// Shards by the executor that has got them.
    gained: BTreeSet<(ExecutorIndex, ShardIndex)>,
}

/// What an executor carries that a shard has come to, or left.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    /// Kept move by move.
    tally: Tally,
    /// Exact.
    count: Count,
    /// Whether it is among the stale ones.
    is_stale: bool,
}

impl<'a> Draft<'a> {
    /// The desk must be empty.
    pub(super) fn new(now: Time, ledger: &'a Ledger, standing: Standing, mut desk: Desk) -> Self {
        desk.moved.resize(ledger.slots(), None);
        Self {
            now,
            policy: ledger.policy(),
            ledger,
            measured: ledger.measured(),
            standing,
            stale: Vec::new(),
            empty: BTreeMap::new(),
            second_look: false,
            desk,
            moves: Vec::new(),
            gained: BTreeSet::new(),
        }
    }

    /// Open executors in order of id.
    pub(super) fn open(&self) -> &'a [ExecutorIndex] {
        self.ledger.open()
    }

    /// Its place among open executors; none if it is not.
    pub(super) fn rank(&self, executor: ExecutorIndex) -> Option<u32> {
        self.ledger.rank(executor)
    }

    /// Executors whose shards must leave.
    pub(super) fn to_empty(&self) -> &'a [ExecutorIndex] {
        self.ledger.to_empty()
    }

    /// By index; some may have gone, which are not open and have nothing.
    pub(super) fn executors(&self) -> &'a [ExecutorView] {
        self.ledger.executors()
    }

    pub(super) fn executor(&self, executor: ExecutorIndex) -> &'a ExecutorView {
        &self.executors()[executor.0 as usize]
    }

    pub(super) fn owner(&self, shard: ShardIndex) -> Option<ExecutorIndex> {
        match self.step(shard) {
            Some(step) => Some(step.to),
            None => self.ledger.owner(shard),
        }
    }

    /// What an executor has now: in order of load where that is kept.
    pub(super) fn shards_of(&self, executor: ExecutorIndex) -> Vec<ShardIndex> {
        let mut shards = self.ledger.shards_of(executor);
        if self.is_touched(executor) {
            let first = (executor, ShardIndex(0));
            let last = (executor, ShardIndex(u32::MAX));
            shards.retain(|&shard| self.owner(shard) == Some(executor));
            shards.extend(self.gained.range(first..=last).map(|&(_, shard)| shard));
        }
        shards
    }

    fn is_touched(&self, executor: ExecutorIndex) -> bool {
        self.desk.touched.get(executor.0).is_some()
    }

    pub(super) fn tally(&self, executor: ExecutorIndex) -> Tally {
        match self.desk.touched.get(executor.0) {
            Some(touched) => touched.tally,
            None => self.ledger.accounts()[executor.0 as usize].tally(self.measured.mean),
        }
    }

    pub(super) fn load(&self, executor: ExecutorIndex) -> f64 {
        self.tally(executor).load
    }

    /// Every shard with its index.
    pub(super) fn shards(&self) -> impl Iterator<Item = (ShardIndex, ShardView)> {
        self.ledger.shards()
    }

    /// Shards without owner, as the plan begins.
    pub(super) fn unowned(&self) -> impl Iterator<Item = ShardIndex> {
        self.ledger.unowned()
    }

    pub(super) fn shard(&self, shard: ShardIndex) -> ShardView {
        self.ledger.shard(shard)
    }

    /// What a shard counts for: its load, or the mean if nobody has measured it.
    pub(super) fn weight(&self, shard: &ShardView) -> f64 {
        shard.load.map_or(self.measured.mean, |load| load.smoothed)
    }

    pub(super) fn weight_of(&self, shard: ShardIndex) -> f64 {
        self.ledger.load(shard).unwrap_or(self.measured.mean)
    }

    /// What it counts for, and what breaks ties between it and others.
    pub(super) fn weighed(&self, shard: ShardIndex) -> (Ordered, u64, ShardIndex) {
        let view = self.ledger.shard(shard);
        (Ordered(self.weight(&view)), view.key_hash, shard)
    }

    /// The largest shard that an executor has.
    pub(super) fn largest_of(&self, executor: ExecutorIndex) -> Option<ShardIndex> {
        let account = &self.ledger.accounts()[executor.0 as usize];
        match account.by_load().filter(|_| !self.is_touched(executor)) {
            Some(by_load) => by_load.shards().next_back(),
            None => self.shards_of(executor).into_iter().max_by_key(|&it| self.weighed(it)),
        }
    }

    /// How far noise alone may have taken the load of a shard, squared.
    pub(super) fn variance(&self, shard: ShardIndex) -> f64 {
        self.ledger.variance(shard)
    }

    /// What an unmeasured shard counts for.
    pub(super) fn mean_shard_load(&self) -> f64 {
        self.measured.mean
    }

    pub(super) fn anything_measured(&self) -> bool {
        self.measured.any
    }

    /// Whether this plan may still move it: not in handover, not moved already.
    pub(super) fn is_free(&self, shard: ShardIndex) -> bool {
        !self.shard(shard).fixed && !self.is_moved(shard)
    }

    /// From now on everything is where it may stay.
    pub(super) fn look_again(&mut self) {
        self.second_look = true;
    }

    pub(super) fn has_moves(&self) -> bool {
        !self.moves.is_empty()
    }

    pub(super) fn is_moved(&self, shard: ShardIndex) -> bool {
        self.desk.moved[shard.0 as usize].is_some()
    }

    /// The mean load of an open executor; 0 if none is open.
    pub(super) fn mean(&self) -> f64 {
        let total: Sum = self.open().iter().map(|&executor| self.load(executor)).collect();
        total.value() / self.open().len().max(1) as f64
    }

    pub(super) fn capacity(&self, executor: ExecutorIndex) -> f64 {
        self.executor(executor).capacity
    }

    /// Open executors as the placer wants them.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate> {
        self.open().iter().map(|&index| Candidate {
            index,
            id: self.executor(index).id.clone(),
            tally: self.tally(index),
            capacity: self.capacity(index),
        })
    }

    /// Notes which executors have nothing: what they are given from now on is
    /// filling them.
    pub(super) fn note_empty(&mut self) {
        let touched = self.desk.touched.iter();
        let empty = touched.map(|(index, it)| (ExecutorIndex(index), it.tally.shards == 0));
        self.empty = empty.collect();
    }

    pub(super) fn was_empty(&self, executor: ExecutorIndex) -> bool {
        let had_none = || self.ledger.accounts()[executor.0 as usize].count().shards() == 0;
        self.empty.get(&executor).copied().unwrap_or_else(had_none)
    }

    /// Where a shard may stay without having been moved. What has just been placed
    /// has no such place; at a second look, as in the next cycle, all have.
    pub(super) fn home(&self, shard: ShardIndex) -> Option<ExecutorIndex> {
        let may_go_anywhere = !self.second_look && self.is_moved(shard);
        self.owner(shard).filter(|_| !may_go_anywhere)
    }

    /// Whether it moved for balance too recently to do so again: in an earlier
    /// cycle, or in this one.
    pub(super) fn is_cooling(&self, index: ShardIndex, shard: &ShardView) -> bool {
        let cooldown = self.policy.per_shard_cooldown();
        shard.moved_at.is_some_and(|moved_at| self.now.since(moved_at) < cooldown)
            || !cooldown.is_zero() && self.step(index).is_some_and(|step| !step.reason.is_forced())
    }

    /// What this plan does with a shard.
    fn step(&self, shard: ShardIndex) -> Option<&Move> {
        let place = self.desk.moved[shard.0 as usize]?.get() as usize;
        self.moves[place - 1].as_ref()
    }

    /// The plan, with everything cleared away.
    pub(super) fn into_outcome(
        mut self,
        before: Balance,
        unplaced: usize,
        verdict: Verdict,
    ) -> Outcome {
        let (after, bound) = (self.balance(), self.bound());
        let Verdict { held, stopped } = verdict;
        let report = Report { before, after, bound, held, unplaced, stopped };
        let standing = self.restored_standing();
        let Self { moves, mut desk, .. } = self;
        let moves: Vec<Move> = moves.into_iter().flatten().collect();
        for step in &moves {
            desk.moved[step.shard.0 as usize] = None;
        }
        Outcome { plan: Plan { moves, report }, standing, desk }
    }
}
