//! A plan in the making: the view as it would be after the moves so far.

mod count;

use std::num::NonZeroU32;

use crate::measures::{Balance, Bound, Sum, lower_bound_over};
use crate::placer::{Candidate, Tally};
use crate::plan::{Move, MoveReason, Plan, Report};
use crate::policy::Policy;
use crate::time::Time;
use crate::view::{ExecutorIndex, ShardIndex, ShardView, View};

use count::{Count, Measured, count, reading};

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
    /// By executor: whether it has nothing before moves for balance.
    empty: Vec<bool>,
    /// Whether a round of moves for balance has been made.
    second_look: bool,
    /// By shard: where in `moves` this plan moves it.
    moved: Vec<Option<NonZeroU32>>,
    /// A shard that came home again leaves a gap.
    moves: Vec<Option<Move>>,
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
            empty: Vec::new(),
            second_look: false,
            moved: vec![None; view.shards.len()],
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
        let total: Sum = self.open.iter().map(|&executor| self.load(executor)).collect();
        total.value() / self.open.len().max(1) as f64
    }

    /// How many shards open executors have.
    pub(super) fn assigned(&self) -> usize {
        self.open.iter().map(|&executor| self.tally(executor).shards).sum()
    }

    pub(super) fn balance(&self) -> Balance {
        let host = |&executor: &ExecutorIndex| (self.load(executor), self.capacity(executor));
        let hosts: Vec<_> = self.open.iter().map(host).collect();
        Balance::per_capacity(&hosts, self.measured.part)
    }

    /// The least that is possible for the shards of open executors.
    pub(super) fn bound(&self) -> Bound {
        let is_open =
            |&owner: &ExecutorIndex| self.view.executors[owner.0 as usize].candidacy.is_open();
        let shards = self.view.shards.iter().zip(&self.owners);
        let placed = shards.filter(|(_, owner)| owner.as_ref().is_some_and(is_open));
        let capacities: Vec<f64> = self.open.iter().map(|&host| self.capacity(host)).collect();
        lower_bound_over(placed.map(|(shard, _)| self.weight(shard)), &capacities)
    }

    pub(super) fn capacity(&self, executor: ExecutorIndex) -> f64 {
        self.view.executors[executor.0 as usize].capacity
    }

    /// Open executors as the placer wants them.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate> {
        self.open.iter().map(|&index| Candidate {
            index,
            id: self.view.executors[index.0 as usize].id.clone(),
            tally: self.tally(index),
            capacity: self.capacity(index),
        })
    }

    pub(super) fn shift(&mut self, shard: ShardIndex, to: ExecutorIndex, reason: MoveReason) {
        let load = self.weight(self.shard(shard));
        let from = self.relocate(shard, load, to);
        self.moves.push(Some(Move { shard, from, to, load, reason, gain: 0.0 }));
        self.moved[shard.0 as usize] =
            u32::try_from(self.moves.len()).ok().and_then(NonZeroU32::new);
    }

    /// Says who had it.
    fn relocate(
        &mut self,
        shard: ShardIndex,
        load: f64,
        to: ExecutorIndex,
    ) -> Option<ExecutorIndex> {
        let from = self.owners[shard.0 as usize].replace(to);
        if let Some(from) = from {
            self.tallies[from.0 as usize].lose(load);
        }
        self.tallies[to.0 as usize].gain(load);
        from
    }

    /// Open executors in order of id, but for those that have only just come. If
    /// all have, all count.
    pub(super) fn settled(&self) -> Vec<ExecutorIndex> {
        let delay = self.policy.adaptive.newcomer_delay;
        let opened_at = |index: ExecutorIndex| self.view.executors[index.0 as usize].opened_at;
        let has_settled = |&index: &ExecutorIndex| {
            opened_at(index).is_none_or(|opened_at| self.now.since(opened_at) >= delay)
        };
        let settled: Vec<_> = self.open.iter().copied().filter(has_settled).collect();
        if settled.is_empty() { self.open.clone() } else { settled }
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
    pub(super) fn is_cooling(&self, shard: ShardIndex) -> bool {
        let cooldown = self.policy.per_shard_cooldown();
        let moved_at = self.shard(shard).moved_at;
        moved_at.is_some_and(|moved_at| self.now.since(moved_at) < cooldown)
            || !cooldown.is_zero() && self.step(shard).is_some_and(|step| !step.reason.is_forced())
    }

    /// What this plan does with a shard.
    fn step(&self, shard: ShardIndex) -> Option<&Move> {
        let place = self.moved[shard.0 as usize]?.get() as usize;
        self.moves[place - 1].as_ref()
    }

    /// As [`Draft::shift`], also for a shard that this plan has moved before: the
    /// two become one move, or none if it is home again.
    pub(super) fn carry(
        &mut self,
        shard: ShardIndex,
        to: ExecutorIndex,
        is_exchange: bool,
        gain: f64,
    ) {
        let reason = match is_exchange {
            _ if self.was_empty(to) => MoveReason::FillEmpty,
            true => MoveReason::Exchange,
            false => MoveReason::Balance,
        };
        let place = self.moved[shard.0 as usize].map(|place| place.get() as usize - 1);
        let Some((place, before)) = place.and_then(|place| Some((place, self.moves[place]?)))
        else {
            self.shift(shard, to, reason);
            if let Some(Some(step)) = self.moves.last_mut() {
                step.gain = gain;
            }
            return;
        };
        self.relocate(shard, before.load, to);
        if before.from == Some(to) {
            self.moves[place] = None;
            self.moved[shard.0 as usize] = None;
        } else if before.reason.is_forced() {
            self.moves[place] = Some(Move { to, ..before });
        } else {
            self.moves[place] = Some(Move { to, reason, gain: before.gain + gain, ..before });
        }
    }

    /// Counts anew what everyone has, as the next cycle will: sums that were kept
    /// move by move differ from that in the last bits.
    pub(super) fn recount(&mut self) {
        let mut counts = vec![Count::default(); self.tallies.len()];
        for (shard, owner) in self.view.shards.iter().zip(&self.owners) {
            if let Some(owner) = owner {
                let load = shard.load.map(|load| reading(self.policy.mode, load));
                counts[owner.0 as usize].add(load);
            }
        }
        let mean = self.measured.mean;
        self.tallies = counts.into_iter().map(|count| count.tally(mean)).collect();
    }

    pub(super) fn into_plan(self, before: Balance, unplaced: usize, verdict: Verdict) -> Plan {
        let after = self.balance();
        let bound = self.bound();
        let Verdict { held, stopped } = verdict;
        let report = Report { before, after, bound, held, unplaced, stopped };
        Plan { moves: self.moves.into_iter().flatten().collect(), report }
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

fn open_by_id(view: &View) -> Vec<ExecutorIndex> {
    let indices = (0u32..).map(ExecutorIndex).zip(&view.executors);
    let mut open: Vec<_> = indices.filter(|(_, executor)| executor.candidacy.is_open()).collect();
    open.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
    open.into_iter().map(|(index, _)| index).collect()
}
