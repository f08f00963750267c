//! What hosts carry, kept between cycles, so that a cycle costs what has changed.
//!
//! The caller says what changes: a load, an owner, an executor. The ledger keeps
//! the shards of each host in order of load, their sums, and the hosts in every
//! order that a plan asks for ([`Standing`]). Only what has changed is put elsewhere
//! in them. A plan then looks at hosts that are too hot or too cold, or that a single
//! shard pins, and at their shards.
//!
//! Sums are exact, so a plan depends on what is so now and on nothing that was:
//! the plan of a ledger that has been kept for a month is that of one made anew,
//! to the last bit. While nothing changes and no cooldown ends, it is the last one.
//!
//! Indices are the caller's and need not be dense. Refuses to know names, and to
//! carry a plan out: the caller tells it of each move that really happens.

mod account;
mod by_load;
mod count;
mod entry;
mod executors;
mod read;
mod recent;
mod refresh;

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Plan, Scope};
use crate::planner::{self, Desk};
use crate::policy::Policy;
use crate::standing::Standing;
use crate::time::Time;
use crate::view::{ExecutorIndex, ExecutorView, Load, ShardIndex, ShardView, View};

pub(crate) use by_load::ByLoad;
pub(crate) use count::{Count, Measured};
use entry::Entry;
use executors::Executors;
use recent::Recent;

/// One namespace as its planner keeps it.
#[derive(Clone, Debug)]
pub struct Ledger {
    policy: Policy,
    executors: Executors,
    entries: Vec<Entry>,
    /// Everything together.
    all: Count,
    /// Shards without owner that are not in handover.
    unowned: BTreeSet<ShardIndex>,
    /// Of shards that cost another than 1 to move.
    costs: BTreeMap<ShardIndex, f64>,
    /// When shards moved for balance, until that is longer ago than the cooldown.
    recent: Recent,
    /// `None` where so much is new that it is made anew.
    standing: Option<Standing>,
    /// What unmeasured shards count for in it.
    mean: f64,
    /// Room for a plan in the making.
    desk: Desk,
    last: Option<Last>,
}

/// The last plan, which holds until something changes.
#[derive(Clone, Debug)]
struct Last {
    scope: Scope,
    until: Time,
    plan: Plan,
}

impl Ledger {
    /// A ledger of nothing.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            executors: Executors::default(),
            entries: Vec::new(),
            all: Count::default(),
            unowned: BTreeSet::new(),
            costs: BTreeMap::new(),
            recent: Recent::default(),
            standing: None,
            mean: 0.0,
            desk: Desk::default(),
            last: None,
        }
    }

    /// A ledger of everything in a view, with its indices.
    pub fn of(view: &View, policy: Policy) -> Self {
        let mut ledger = Self::new(policy);
        for (index, executor) in (0u32..).map(ExecutorIndex).zip(&view.executors) {
            ledger.set_executor(index, executor.clone());
        }
        ledger.entries.reserve(view.shards.len());
        for (index, shard) in (0u32..).map(ShardIndex).zip(&view.shards) {
            ledger.set_shard(index, shard);
        }
        ledger
    }

    /// What it plans by. Another mode or another cooldown needs another ledger.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Up to which index executors have been heard of.
    pub fn known_executors(&self) -> usize {
        self.executors.views().len()
    }

    /// An executor came, or something about it is different now.
    pub fn set_executor(&mut self, index: ExecutorIndex, executor: ExecutorView) {
        if self.executors.set(index, executor) {
            self.last = None;
        }
    }

    /// An executor has gone. Shards that it still has stay where they are until
    /// they are given another owner.
    pub fn remove_executor(&mut self, index: ExecutorIndex) {
        if self.executors.remove(index) {
            self.last = None;
        }
    }

    /// A shard came, or something about it is different now. Its owner must be an
    /// executor that is known, its load must have passed
    /// [`check_load`](crate::load::check_load).
    pub fn set_shard(&mut self, index: ShardIndex, shard: &ShardView) {
        let entry = Entry::of(shard, self.policy.mode);
        self.set_cost(index, shard.cost);
        self.set_moved_at(index, shard.moved_at);
        self.replace(index, entry);
    }

    /// From now on every shard counts as moved for balance then, unless it moved
    /// later: whoever said so before has not said which.
    pub fn set_all_moved_at(&mut self, moved_at: Option<Time>) {
        if self.recent.set_all(moved_at, self.policy.per_shard_cooldown()) {
            self.last = None;
        }
    }

    /// A shard has gone, or is nothing to a planner now.
    pub fn remove_shard(&mut self, index: ShardIndex) {
        if (index.0 as usize) < self.entries.len() {
            self.set_cost(index, 1.0);
            self.set_moved_at(index, None);
            self.replace(index, Entry::GAP);
        }
    }

    /// A shard that is known has another load.
    pub fn set_load(&mut self, index: ShardIndex, load: Load) {
        let known = self.entries.get(index.0 as usize).filter(|entry| entry.is_there);
        if let Some(entry) = known.map(|entry| entry.with_load(load, self.policy.mode)) {
            self.replace(index, entry);
        }
    }

    /// The moves of one cycle, and why things stay as they are otherwise. Time
    /// must not go back from one plan to the next.
    pub fn plan(&mut self, now: Time, scope: Scope) -> Plan {
        let still_holds = |last: &&Last| last.scope == scope && now < last.until;
        if let Some(last) = self.last.as_ref().filter(still_holds) {
            return last.plan.clone();
        }
        let standing = self.refresh(now);
        let desk = std::mem::take(&mut self.desk);
        let outcome = planner::plan_on(self, now, scope, standing, desk);
        (self.standing, self.desk) = (outcome.standing, outcome.desk);
        let (until, plan) = (self.holds_until(now), outcome.plan);
        self.last = Some(Last { scope, until, plan: plan.clone() });
        plan
    }

    /// When the first cooldown ends, or the first newcomer has settled.
    fn holds_until(&self, now: Time) -> Time {
        let cooled = self.recent.next_end(self.policy.per_shard_cooldown());
        let delay = self.policy.adaptive.newcomer_delay;
        let settled = self.executors.opened_within(delay, now).last();
        let settled = settled.map(|(opened_at, _)| opened_at + delay);
        cooled.into_iter().chain(settled).fold(Time::MAX, Time::min)
    }

    fn set_cost(&mut self, index: ShardIndex, cost: f64) {
        let before = match cost {
            1.0 if self.costs.is_empty() => None,
            1.0 => self.costs.remove(&index),
            cost => self.costs.insert(index, cost),
        };
        if before.unwrap_or(1.0) != cost {
            self.last = None;
        }
    }

    fn set_moved_at(&mut self, index: ShardIndex, moved_at: Option<Time>) {
        if self.recent.set(index, moved_at, self.policy.per_shard_cooldown()) {
            self.last = None;
        }
    }

    fn replace(&mut self, index: ShardIndex, mut entry: Entry) {
        let slot = index.0 as usize;
        if slot >= self.entries.len() {
            self.entries.resize(slot + 1, Entry::GAP);
        }
        let before = self.entries[slot];
        entry.place = before.place;
        if before == entry {
            return;
        }
        self.last = None;
        if before.is_there {
            self.all.take(before.load());
        }
        if entry.is_there {
            self.all.add(entry.load());
        }
        match entry.wants_owner() {
            true => self.unowned.insert(index),
            false => before.wants_owner() && self.unowned.remove(&index),
        };
        self.rebook(index, &before, entry);
    }

    /// Takes a shard from the account of one owner to that of the other.
    fn rebook(&mut self, index: ShardIndex, before: &Entry, mut entry: Entry) {
        if let Some(owner) = before.owner() {
            self.executors.account_mut(owner).take(index, before);
        }
        if before.owner() != entry.owner() {
            if let Some(owner) = before.owner() {
                let moved_up = self.executors.unlist(owner, before.place);
                if let Some(moved_up) = moved_up {
                    self.entries[moved_up.0 as usize].place = before.place;
                }
            }
            entry.place = entry.owner().map_or(0, |owner| self.executors.list(owner, index));
        }
        if let Some(owner) = entry.owner() {
            self.executors.account_mut(owner).add(index, &entry);
        }
        self.entries[index.0 as usize] = entry;
    }
}
