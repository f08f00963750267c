//! The executors of a table, each in a numbered slot, so that a route costs four
//! bytes for its owner and a change of metadata touches one place.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::RoutedExecutor;

/// Numbers one executor while it is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Slot(u32);

#[derive(Clone, Debug)]
struct Entry {
    executor: Arc<RoutedExecutor>,
    /// How many routes name it.
    routes: usize,
    /// Leaves with the last of its routes.
    gone: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Executors {
    /// An entry that is free keeps its last executor until it is used again.
    entries: Vec<Entry>,
    free: Vec<Slot>,
    by_id: BTreeMap<Arc<str>, Slot>,
}

impl Executors {
    /// Whether routes may be given to it: one that is leaving takes none.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.by_id.get(id).is_some_and(|slot| !self.entries[slot.index()].gone)
    }

    pub(crate) fn get(&self, slot: Slot) -> &Arc<RoutedExecutor> {
        &self.entries[slot.index()].executor
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Arc<RoutedExecutor>> {
        self.by_id.get(id).map(|slot| self.get(*slot))
    }

    /// In order of id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<RoutedExecutor>> {
        self.by_id.values().map(|slot| self.get(*slot))
    }

    /// Adds an executor, or replaces the metadata of a known one.
    pub(crate) fn put(&mut self, executor: Arc<RoutedExecutor>) {
        match self.by_id.get(&executor.id) {
            Some(slot) => {
                let entry = &mut self.entries[slot.index()];
                entry.executor = executor;
                entry.gone = false;
            }
            None => self.insert(executor),
        }
    }

    /// Counts one more route to the executor; `None` if it is not known.
    pub(crate) fn take(&mut self, id: &str) -> Option<Slot> {
        let slot = *self.by_id.get(id)?;
        self.entries[slot.index()].routes += 1;
        Some(slot)
    }

    /// Counts one route less.
    pub(crate) fn release(&mut self, slot: Slot) {
        self.entries[slot.index()].routes -= 1;
        self.remove_if_gone(slot);
    }

    /// Forgets an executor as soon as no route names it.
    pub(crate) fn retire(&mut self, id: &str) {
        if let Some(slot) = self.by_id.get(id).copied() {
            self.entries[slot.index()].gone = true;
            self.remove_if_gone(slot);
        }
    }

    fn insert(&mut self, executor: Arc<RoutedExecutor>) {
        let id = Arc::clone(&executor.id);
        let entry = Entry { executor, routes: 0, gone: false };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot.index()] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                Slot::last_of(&self.entries)
            }
        };
        self.by_id.insert(id, slot);
    }

    fn remove_if_gone(&mut self, slot: Slot) {
        let entry = &self.entries[slot.index()];
        if entry.gone && entry.routes == 0 {
            self.by_id.remove(&entry.executor.id);
            self.free.push(slot);
        }
    }
}

impl Slot {
    fn index(self) -> usize {
        self.0 as usize
    }

    #[expect(clippy::expect_used, reason = "four billion executors do not fit into memory")]
    fn last_of(entries: &[Entry]) -> Self {
        Self(u32::try_from(entries.len() - 1).expect("fewer than 2^32 executors"))
    }
}
