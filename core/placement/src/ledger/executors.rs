//! The executors of a ledger, in order of id where that is asked for.

use std::sync::Arc;

use crate::view::{Candidacy, ExecutorIndex, ExecutorView, ShardIndex};

use super::account::Account;
use super::entry::Entry;

#[derive(Clone, Debug, Default)]
pub(crate) struct Executors {
    /// By executor. One that is not there is one that gets nothing.
    views: Vec<ExecutorView>,
    accounts: Vec<Account>,
    /// Open ones in order of id.
    open: Vec<ExecutorIndex>,
    /// Whether `open` is older than the views.
    is_stale: bool,
    /// Whose accounts have changed since they were last looked at.
    changed: Vec<ExecutorIndex>,
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
    pub(super) fn refresh(&mut self, entries: &[Entry]) {
        for index in self.changed.drain(..) {
            self.accounts[index.0 as usize].refresh(entries);
        }
        if std::mem::take(&mut self.is_stale) {
            self.open = open_by_id(&self.views);
        }
    }

    pub(crate) fn views(&self) -> &[ExecutorView] {
        &self.views
    }

    pub(crate) fn open(&self) -> &[ExecutorIndex] {
        &self.open
    }

    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }
}

/// Gets nothing, and has nothing.
fn nobody() -> ExecutorView {
    ExecutorView::new(Arc::from(""), Candidacy::Silent)
}

fn open_by_id(views: &[ExecutorView]) -> Vec<ExecutorIndex> {
    let indices = (0u32..).map(ExecutorIndex).zip(views);
    let mut open: Vec<_> = indices.filter(|(_, executor)| executor.candidacy.is_open()).collect();
    open.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
    open.into_iter().map(|(index, _)| index).collect()
}
