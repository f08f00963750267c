//! The executors of a ledger, in order of id where that is asked for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::standing::Host;
use crate::time::Time;
use crate::view::{Candidacy, ExecutorIndex, ExecutorView, ShardIndex};

use super::account::Account;
use super::entry::Entry;

/// No executor has this rank.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct Executors {
    /// By executor. One that is not there is one that gets nothing.
    views: Vec<ExecutorView>,
    accounts: Vec<Account>,
    roster: Roster,
    /// Whether the roster is older than the views.
    is_stale: bool,
    /// Whose accounts have changed since they were last looked at.
    changed: Vec<ExecutorIndex>,
    /// Who has shards that nobody has measured.
    guessed: BTreeSet<ExecutorIndex>,
}

/// What follows from the views, made anew when one of them is another.
#[derive(Clone, Debug, Default)]
struct Roster {
    /// Open ones in order of id.
    open: Vec<ExecutorIndex>,
    /// By executor: its place among the open ones.
    ranks: Vec<u32>,
    /// Those whose shards must leave.
    to_empty: Vec<ExecutorIndex>,
    /// Ranks of open ones by when they opened, as far as that is known.
    by_opening: BTreeSet<(Time, u32)>,
}

/// What was brought up to date.
#[derive(Debug)]
pub(super) enum Refreshed {
    /// Another executor is open, or looks different.
    Roster,
    /// These accounts.
    Accounts(Vec<ExecutorIndex>),
}

impl Executors {
    /// Whether that is something new.
    pub(super) fn set(&mut self, index: ExecutorIndex, executor: ExecutorView) -> bool {
        self.make_room(index);
        let known = &mut self.views[index.0 as usize];
        let is_new = *known != executor;
        *known = executor;
        self.is_stale |= is_new;
        is_new
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, index: ExecutorIndex) -> bool {
        (index.0 as usize) < self.views.len() && self.set(index, nobody())
    }

    fn make_room(&mut self, index: ExecutorIndex) {
        if index.0 as usize >= self.views.len() {
            self.views.resize_with(index.0 as usize + 1, nobody);
            self.accounts.resize_with(index.0 as usize + 1, Account::default);
            self.is_stale = true;
        }
    }

    /// For a change.
    pub(super) fn account_mut(&mut self, index: ExecutorIndex) -> &mut Account {
        self.make_room(index);
        let account = &mut self.accounts[index.0 as usize];
        if account.age() {
            self.changed.push(index);
        }
        account
    }

    /// Puts a shard on an executor's list; its place there.
    pub(super) fn list(&mut self, executor: ExecutorIndex, shard: ShardIndex) -> u32 {
        let shards = &mut self.account_mut(executor).shards;
        shards.push(shard);
        shards.len() as u32 - 1
    }

    /// Takes off what is at that place; the shard that is there now.
    pub(super) fn unlist(&mut self, executor: ExecutorIndex, place: u32) -> Option<ShardIndex> {
        let shards = &mut self.account_mut(executor).shards;
        shards.swap_remove(place as usize);
        shards.get(place as usize).copied()
    }

    /// Brings everything up to date.
    pub(super) fn refresh(&mut self, entries: &[Entry]) -> Refreshed {
        let changed = std::mem::take(&mut self.changed);
        for &index in &changed {
            let account = &mut self.accounts[index.0 as usize];
            account.refresh(entries);
            match account.count().has_unmeasured() {
                true => self.guessed.insert(index),
                false => self.guessed.remove(&index),
            };
        }
        if std::mem::take(&mut self.is_stale) {
            self.roster = Roster::of(&self.views);
            return Refreshed::Roster;
        }
        Refreshed::Accounts(changed)
    }

    /// The figures of open ones by rank, if a shard that nobody has measured counts
    /// as `mean`.
    pub(super) fn hosts(&self, mean: f64) -> Vec<Host> {
        self.roster.open.iter().map(|&index| self.host(index, mean)).collect()
    }

    /// The figures of one of them.
    pub(crate) fn host(&self, index: ExecutorIndex, mean: f64) -> Host {
        let account = &self.accounts[index.0 as usize];
        let tally = account.tally(mean);
        Host {
            capacity: self.views[index.0 as usize].capacity,
            load: tally.load,
            shards: tally.shards,
            variance: account.variance(),
            largest: account.largest(mean),
            largest_variance: 0.0,
        }
    }

    /// Who has shards that nobody has measured.
    pub(super) fn guessed(&self) -> impl Iterator<Item = ExecutorIndex> {
        self.guessed.iter().copied()
    }

    pub(crate) fn views(&self) -> &[ExecutorView] {
        &self.views
    }

    pub(crate) fn open(&self) -> &[ExecutorIndex] {
        &self.roster.open
    }

    /// Its place among open ones; none if it is not.
    pub(crate) fn rank(&self, index: ExecutorIndex) -> Option<u32> {
        self.roster.ranks.get(index.0 as usize).copied().filter(|&rank| rank != NOWHERE)
    }

    /// Those whose shards must leave.
    pub(crate) fn to_empty(&self) -> &[ExecutorIndex] {
        &self.roster.to_empty
    }

    /// Ranks of open ones that opened less than `delay` ago, the last first, and
    /// when they did.
    pub(crate) fn opened_within(
        &self,
        delay: Duration,
        now: Time,
    ) -> impl Iterator<Item = (Time, u32)> {
        let last_first = self.roster.by_opening.iter().rev().copied();
        last_first.take_while(move |(opened_at, _)| now.since(*opened_at) < delay)
    }

    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }
}

impl Roster {
    fn of(views: &[ExecutorView]) -> Self {
        let open = open_by_id(views);
        let mut ranks = vec![NOWHERE; views.len()];
        for (rank, index) in (0u32..).zip(&open) {
            ranks[index.0 as usize] = rank;
        }
        let must_empty = |(_, executor): &(_, &ExecutorView)| executor.candidacy.must_empty();
        let opened_at = |(rank, index): (u32, &ExecutorIndex)| {
            views[index.0 as usize].opened_at.map(|opened_at| (opened_at, rank))
        };
        Self {
            to_empty: indexed(views).filter(must_empty).map(|(index, _)| index).collect(),
            by_opening: (0u32..).zip(&open).filter_map(opened_at).collect(),
            ranks,
            open,
        }
    }
}

/// Gets nothing, and has nothing.
fn nobody() -> ExecutorView {
    ExecutorView::new(Arc::from(""), Candidacy::Silent)
}

fn indexed(views: &[ExecutorView]) -> impl Iterator<Item = (ExecutorIndex, &ExecutorView)> {
    (0u32..).map(ExecutorIndex).zip(views)
}

fn open_by_id(views: &[ExecutorView]) -> Vec<ExecutorIndex> {
    let mut open: Vec<_> =
        indexed(views).filter(|(_, executor)| executor.candidacy.is_open()).collect();
    open.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
    open.into_iter().map(|(index, _)| index).collect()
}
