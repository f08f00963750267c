//! A plan in the making: the ledger as it would be after the moves so far.
//!
//! Costs what is moved: for the rest it reads the ledger.

mod level;
mod moves;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use crate::ledger::{Figures, Ledger, Measured};
use crate::measures::{Balance, ExactSum, Sum};
use crate::placer::{Candidate, Tally};
use crate::plan::{Move, Plan, Report};
use crate::policy::Policy;
use crate::time::Time;
use crate::view::{ExecutorIndex, ExecutorView, ShardIndex, ShardView};

use super::verdict::Verdict;

/// By shard: where in the moves of a plan it is. Empty between plans.
pub(super) type Marks = Vec<Option<NonZeroU32>>;

#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) now: Time,
    pub(super) policy: &'a Policy,
    ledger: &'a Ledger,
    /// By executor.
    tallies: Vec<Tally>,
    measured: Measured,
    /// By executor: whether it has nothing before moves for balance.
    empty: Vec<bool>,
    /// Whether a round of moves for balance has been made.
    second_look: bool,
    moved: Marks,
    /// A shard that came home again leaves a gap.
    moves: Vec<Option<Move>>,
    /// By executor: whether a shard has come or gone.
    touched: Vec<bool>,
    /// Shards by the executor that has got them.
    gained: BTreeSet<(ExecutorIndex, ShardIndex)>,
}

/// What an executor carries beside the sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// Of the sum of its loads.
    pub(super) variance: f64,
    /// Its largest shard.
    pub(super) largest: f64,
}

impl<'a> Draft<'a> {
    /// `marks` must be empty, with room for every shard.
    pub(super) fn new(now: Time, ledger: &'a Ledger, marks: Marks) -> Self {
        let measured = ledger.measured();
        let accounts = ledger.accounts();
        Self {
            now,
            policy: ledger.policy(),
            ledger,
            tallies: accounts.iter().map(|account| account.tally(measured.mean)).collect(),
            measured,
            empty: Vec::new(),
            second_look: false,
            moved: marks,
            moves: Vec::new(),
            touched: vec![false; accounts.len()],
            gained: BTreeSet::new(),
        }
    }

    /// Open executors in order of id.
    pub(super) fn open(&self) -> &'a [ExecutorIndex] {
        self.ledger.open()
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

    /// What an executor has now, in no order.
    pub(super) fn shards_of(&self, executor: ExecutorIndex) -> Vec<ShardIndex> {
        let known = self.ledger.shards_of(executor);
        if !self.touched[executor.0 as usize] {
            return known.to_vec();
        }
        let first = (executor, ShardIndex(0));
        let last = (executor, ShardIndex(u32::MAX));
        let stayed = known.iter().copied().filter(|&shard| self.owner(shard) == Some(executor));
        stayed.chain(self.gained.range(first..=last).map(|&(_, shard)| shard)).collect()
    }

    pub(super) fn carried(&self, executor: ExecutorIndex) -> Carried {
        if !self.touched[executor.0 as usize] {
            let account = &self.ledger.accounts()[executor.0 as usize];
            let Figures { variance, .. } = account.figures();
            return Carried { variance, largest: account.largest(self.measured.mean) };
        }
        let (mut variance, mut largest) = (ExactSum::default(), 0.0_f64);
        for shard in self.shards_of(executor) {
            variance.add(self.ledger.variance(shard));
            largest = largest.max(self.weight_of(shard));
        }
        Carried { variance: variance.value(), largest }
    }

    pub(super) fn tally(&self, executor: ExecutorIndex) -> Tally {
        self.tallies[executor.0 as usize]
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
        self.moved[shard.0 as usize].is_some()
    }

    /// The mean load of an open executor; 0 if none is open.
    pub(super) fn mean(&self) -> f64 {
        let total: Sum = self.open().iter().map(|&executor| self.load(executor)).collect();
        total.value() / self.open().len().max(1) as f64
    }

    /// How many shards open executors have.
    pub(super) fn assigned(&self) -> usize {
        self.open().iter().map(|&executor| self.tally(executor).shards).sum()
    }

    pub(super) fn balance(&self) -> Balance {
        let host = |&executor: &ExecutorIndex| (self.load(executor), self.capacity(executor));
        let hosts: Vec<_> = self.open().iter().map(host).collect();
        Balance::per_capacity(&hosts, self.measured.part)
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

    /// Open executors in order of id, but for those that have only just come. If
    /// all have, all count.
    pub(super) fn settled(&self) -> Vec<ExecutorIndex> {
        let delay = self.policy.adaptive.newcomer_delay;
        let has_settled = |&index: &ExecutorIndex| {
            let opened_at = self.executor(index).opened_at;
            opened_at.is_none_or(|opened_at| self.now.since(opened_at) >= delay)
        };
        let settled: Vec<_> = self.open().iter().copied().filter(has_settled).collect();
        if settled.is_empty() { self.open().to_vec() } else { settled }
    }

    /// Notes which executors have nothing: what they are given from now on is
    /// filling them.
    pub(super) fn note_empty(&mut self) {
        self.empty = self.tallies.iter().map(|tally| tally.shards == 0).collect();
    }

    pub(super) fn was_empty(&self, executor: ExecutorIndex) -> bool {
        self.empty.get(executor.0 as usize).is_some_and(|&empty| empty)
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
        let place = self.moved[shard.0 as usize]?.get() as usize;
        self.moves[place - 1].as_ref()
    }

    /// The plan, and the marks, empty again.
    pub(super) fn into_plan(
        self,
        before: Balance,
        unplaced: usize,
        verdict: Verdict,
    ) -> (Plan, Marks) {
        let after = self.balance();
        let bound = self.bound();
        let Verdict { held, stopped } = verdict;
        let report = Report { before, after, bound, held, unplaced, stopped };
        let moves: Vec<Move> = self.moves.into_iter().flatten().collect();
        let mut marks = self.moved;
        for step in &moves {
            marks[step.shard.0 as usize] = None;
        }
        (Plan { moves, report }, marks)
    }
}
