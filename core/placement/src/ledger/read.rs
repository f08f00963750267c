//! What a planner reads in a ledger.

use super::Ledger;
use super::account::Account;
use super::count::Measured;
use super::entry::Entry;
use crate::standing::Host;
use crate::time::Time;
use crate::view::{ExecutorIndex, ExecutorView, Load, ShardIndex, ShardView, View};

impl Ledger {
    pub(crate) fn measured(&self) -> Measured {
        Measured::of(&self.all)
    }

    /// Up to which index shards have been heard of.
    pub(crate) fn slots(&self) -> usize {
        self.entries.len()
    }

    /// By executor.
    pub(crate) fn executors(&self) -> &[ExecutorView] {
        self.executors.views()
    }

    /// Open ones in order of id.
    pub(crate) fn open(&self) -> &[ExecutorIndex] {
        self.executors.open()
    }

    /// Its place among open ones; none if it is not.
    pub(crate) fn rank(&self, executor: ExecutorIndex) -> Option<u32> {
        self.executors.rank(executor)
    }

    /// Those whose shards must leave.
    pub(crate) fn to_empty(&self) -> &[ExecutorIndex] {
        self.executors.to_empty()
    }

    /// Ranks of open executors that have only just come; none if all have.
    pub(crate) fn newcomers(&self, now: Time) -> Vec<u32> {
        let delay = self.policy.adaptive.newcomer_delay;
        let within = self.executors.opened_within(delay, now);
        let newcomers: Vec<u32> = within.map(|(_, rank)| rank).collect();
        if newcomers.len() < self.open().len() { newcomers } else { Vec::new() }
    }

    /// What balance knows of an open executor.
    pub(crate) fn host(&self, executor: ExecutorIndex) -> Host {
        self.executors.host(executor, self.mean)
    }

    /// By executor.
    pub(crate) fn accounts(&self) -> &[Account] {
        self.executors.accounts()
    }

    /// What an executor has: in order of load where that is kept, in none elsewhere.
    pub(crate) fn shards_of(&self, executor: ExecutorIndex) -> Vec<ShardIndex> {
        let account = &self.executors.accounts()[executor.0 as usize];
        match account.by_load() {
            Some(by_load) => by_load.shards().collect(),
            None => account.shards.clone(),
        }
    }

    /// Shards without owner that are not in handover.
    pub(crate) fn unowned(&self) -> impl Iterator<Item = ShardIndex> {
        self.unowned.iter().copied()
    }

    pub(crate) fn owner(&self, shard: ShardIndex) -> Option<ExecutorIndex> {
        self.entries[shard.0 as usize].owner()
    }

    /// Its load as the mode reads it; `None` if nobody has measured it.
    pub(crate) fn load(&self, shard: ShardIndex) -> Option<f64> {
        self.entries[shard.0 as usize].load()
    }

    /// How far noise alone may have taken its load, squared.
    pub(crate) fn variance(&self, shard: ShardIndex) -> f64 {
        self.entries[shard.0 as usize].variance()
    }

    pub(crate) fn shard(&self, shard: ShardIndex) -> ShardView {
        self.see(shard, &self.entries[shard.0 as usize])
    }

    /// Every shard that is there, with its index.
    pub(crate) fn shards(&self) -> impl Iterator<Item = (ShardIndex, ShardView)> {
        let all = (0u32..).map(ShardIndex).zip(&self.entries);
        let there = all.filter(|(_, entry)| entry.is_there);
        there.map(|(index, entry)| (index, self.see(index, entry)))
    }

    fn see(&self, index: ShardIndex, entry: &Entry) -> ShardView {
        let variance = entry.variance();
        let load = |load| Load { smoothed: load, reported: load, variance };
        ShardView {
            key_hash: entry.key_hash,
            owner: entry.owner(),
            load: entry.load().map(load),
            moved_at: self.recent.get(index),
            fixed: entry.is_fixed,
            cost: if entry.has_cost { self.costs.get(&index).copied().unwrap_or(1.0) } else { 1.0 },
        }
    }

    /// Everything in one view, with gaps as shards that nobody may touch.
    pub(crate) fn view(&self) -> View {
        let gap = || ShardView { fixed: true, ..ShardView::new(0) };
        let mut shards: Vec<ShardView> = self.entries.iter().map(|_| gap()).collect();
        for (index, shard) in self.shards() {
            shards[index.0 as usize] = shard;
        }
        View { executors: self.executors().to_vec(), shards }
    }
}
