//! A plan in the making: the view as it would be after the moves so far.

use crate::measures::{Balance, Sum};
use crate::placer::{Candidate, Tally};
use crate::plan::{Move, MoveReason, Plan, Report};
use crate::policy::{Mode, Policy};
use crate::time::Time;
use crate::view::{ExecutorIndex, Load, ShardIndex, ShardView, View};

use super::verdict::Verdict;

#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) now: Time,
    pub(super) view: &'a View,
    pub(super) policy: &'a Policy,
    /// Open executors in order of id.
    open: Vec<ExecutorIndex>,
    /// By executor.
    tallies: Vec<Tally>,
    measured: Measured,
    /// By shard.
    owners: Vec<Option<ExecutorIndex>>,
    /// By shard: whether this plan moves it.
    moved: Vec<bool>,
    moves: Vec<Move>,
}

/// What is known of loads in the whole view.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// The mean over measured shards. 1 if there are none: loads are then counts.
    mean: f64,
    /// The part of shards that are measured; 1 if there are no shards.
    part: f64,
    any: bool,
}

/// The shards of one executor, or of all, while they are counted.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    load: Sum,
    measured: usize,
    unmeasured: usize,
}

impl<'a> Draft<'a> {
    pub(super) fn new(now: Time, view: &'a View, policy: &'a Policy) -> Self {
        let (all, counts) = count(view, policy.mode);
        let measured = Measured::of(all);
        Self {
            now,
            view,
            policy,
            open: open_by_id(view),
            tallies: counts.into_iter().map(|count| count.tally(measured.mean)).collect(),
            measured,
            owners: view.shards.iter().map(|shard| shard.owner).collect(),
            moved: vec![false; view.shards.len()],
            moves: Vec::new(),
        }
    }

    pub(super) fn open(&self) -> &[ExecutorIndex] {
        &self.open
    }

    pub(super) fn owner(&self, shard: ShardIndex) -> Option<ExecutorIndex> {
        self.owners[shard.0 as usize]
    }

    pub(super) fn owners(&self) -> &[Option<ExecutorIndex>] {
        &self.owners
    }

    pub(super) fn tally(&self, executor: ExecutorIndex) -> Tally {
        self.tallies[executor.0 as usize]
    }

    pub(super) fn load(&self, executor: ExecutorIndex) -> f64 {
        self.tally(executor).load
    }

    /// Every shard with its index.
    pub(super) fn shards(&self) -> impl Iterator<Item = (ShardIndex, &'a ShardView)> + use<'a> {
        (0u32..).map(ShardIndex).zip(&self.view.shards)
    }

    pub(super) fn shard(&self, shard: ShardIndex) -> &'a ShardView {
        &self.view.shards[shard.0 as usize]
    }

    /// What a shard counts for: its load, or the mean if nobody has measured it.
    pub(super) fn weight(&self, shard: &ShardView) -> f64 {
        shard.load.map_or(self.measured.mean, |load| reading(self.policy.mode, load))
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
        !self.shard(shard).fixed && !self.moved[shard.0 as usize]
    }

    pub(super) fn is_moved(&self, shard: ShardIndex) -> bool {
        self.moved[shard.0 as usize]
    }

    /// The mean load of an open executor; 0 if none is open.
    pub(super) fn mean(&self) -> f64 {
        let total: Sum = self.open.iter().map(|&executor| self.load(executor)).collect();
        total.value() / self.open.len().max(1) as f64
    }

    /// How many shards open executors have.
    pub(super) fn assigned(&self) -> usize {
        self.open.iter().map(|&executor| self.tally(executor).shards).sum()
    }

    pub(super) fn balance(&self) -> Balance {
        let loads: Vec<f64> = self.open.iter().map(|&executor| self.load(executor)).collect();
        Balance::of(&loads, self.measured.part)
    }

    /// Open executors as the placer wants them.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate> {
        self.open.iter().map(|&index| Candidate {
            index,
            id: self.view.executors[index.0 as usize].id.clone(),
            tally: self.tally(index),
        })
    }

    pub(super) fn shift(&mut self, shard: ShardIndex, to: ExecutorIndex, reason: MoveReason) {
        let load = self.weight(self.shard(shard));
        let from = self.owners[shard.0 as usize].replace(to);
        if let Some(from) = from {
            self.tallies[from.0 as usize].lose(load);
        }
        self.tallies[to.0 as usize].gain(load);
        self.moved[shard.0 as usize] = true;
        self.moves.push(Move { shard, from, to, load, reason });
    }

    pub(super) fn into_plan(self, before: Balance, unplaced: usize, verdict: Verdict) -> Plan {
        let after = self.balance();
        let Verdict { held, stopped } = verdict;
        let report = Report { before, after, held, unplaced, stopped };
        Plan { moves: self.moves, report }
    }
}

impl Tally {
    fn gain(&mut self, load: f64) {
        self.load += load;
        self.shards += 1;
    }

    fn lose(&mut self, load: f64) {
        self.shards -= 1;
        // Rounding must leave neither a shadow of load nor less than none.
        self.load = if self.shards == 0 { 0.0 } else { (self.load - load).max(0.0) };
    }
}

impl Measured {
    fn of(all: Count) -> Self {
        let shards = all.measured + all.unmeasured;
        Self {
            mean: if all.measured > 0 { all.load.value() / all.measured as f64 } else { 1.0 },
            part: if shards > 0 { all.measured as f64 / shards as f64 } else { 1.0 },
            any: all.measured > 0,
        }
    }
}

impl Count {
    fn add(&mut self, load: Option<f64>) {
        match load {
            Some(load) => {
                self.load.add(load);
                self.measured += 1;
            }
            None => self.unmeasured += 1,
        }
    }

    fn tally(self, mean: f64) -> Tally {
        Tally {
            load: self.load.value() + self.unmeasured as f64 * mean,
            shards: self.measured + self.unmeasured,
        }
    }
}

/// Everything together, and by executor, in one pass over the shards.
fn count(view: &View, mode: Mode) -> (Count, Vec<Count>) {
    let mut all = Count::default();
    let mut counts = vec![Count::default(); view.executors.len()];
    for shard in &view.shards {
        let load = shard.load.map(|load| reading(mode, load));
        all.add(load);
        if let Some(owner) = shard.owner {
            counts[owner.0 as usize].add(load);
        }
    }
    (all, counts)
}

/// The load that a mode goes by.
fn reading(mode: Mode, load: Load) -> f64 {
    match mode {
        Mode::Naive => load.reported,
        Mode::Ring | Mode::Greedy => load.smoothed,
    }
}

fn open_by_id(view: &View) -> Vec<ExecutorIndex> {
    let indices = (0u32..).map(ExecutorIndex).zip(&view.executors);
    let mut open: Vec<_> = indices.filter(|(_, executor)| executor.candidacy.is_open()).collect();
    open.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
    open.into_iter().map(|(index, _)| index).collect()
}
