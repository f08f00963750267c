//! The last look at every namespace, and an hour of its balance.
//!
//! What was seen stays when the next look fails: pages show it with its age.

mod brief;
mod look;
mod series;
mod tracks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use plimsoll_wire::sharddistributor::NamespaceConfig;
use plimsoll_wire::v1;
use tokio::sync::{Notify, watch};

use crate::problem::Problem;

pub(crate) use brief::{Brief, Briefs};
pub(crate) use look::{look_at, look_on};
pub(crate) use series::{Point, Series};
pub(crate) use tracks::Tracks;

/// Every namespace as it was last seen.
#[derive(Debug)]
pub(crate) struct Fleet {
    state: RwLock<State>,
    /// Grows with every look.
    looks: watch::Sender<u64>,
    watchers: AtomicUsize,
    watched: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the list of namespaces has ever come.
    is_listed: bool,
    trouble: Option<Trouble>,
    all: BTreeMap<String, Seen>,
}

/// The namespaces at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overview {
    pub(crate) is_listed: bool,
    /// Why the list is as old as it is.
    pub(crate) trouble: Option<Trouble>,
    pub(crate) all: Vec<Seen>,
}

/// One namespace as it was last seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) name: String,
    /// `fixed` or `ephemeral`.
    pub(crate) kind: String,
    /// `None`: not yet.
    pub(crate) picture: Option<Arc<Picture>>,
    /// Why the last look failed.
    pub(crate) trouble: Option<Trouble>,
    pub(crate) series: Arc<Series>,
}

/// One look at a namespace that succeeded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    /// Milliseconds since 1970, by this server's clock.
    pub(crate) taken_ms: u64,
    pub(crate) described: v1::DescribeNamespaceResponse,
    pub(crate) loads: v1::GetLoadsResponse,
    pub(crate) drains: v1::ListDrainsResponse,
}

/// Looks that fail.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Trouble {
    /// Of the first in a row; milliseconds since 1970.
    pub(crate) since_ms: u64,
    pub(crate) problem: Problem,
}

/// Somebody looks on for as long as it lives.
#[derive(Debug)]
pub(crate) struct Watching<'a>(&'a Fleet);

impl Default for Fleet {
    fn default() -> Self {
        Self {
            state: RwLock::default(),
            looks: watch::Sender::new(0),
            watchers: AtomicUsize::new(0),
            watched: Notify::new(),
        }
    }
}

impl Fleet {
    /// Every namespace, in order of name.
    pub(crate) fn overview(&self) -> Overview {
        let state = self.state.read();
        Overview {
            is_listed: state.is_listed,
            trouble: state.trouble.clone(),
            all: state.all.values().cloned().collect(),
        }
    }

    /// One namespace. `None`: it is not listed.
    pub(crate) fn seen(&self, name: &str) -> Option<Seen> {
        self.state.read().all.get(name).cloned()
    }

    /// Tells of every look from now on.
    pub(crate) fn looks(&self) -> watch::Receiver<u64> {
        self.looks.subscribe()
    }

    /// Looks are more frequent while somebody watches.
    pub(crate) fn watch(&self) -> Watching<'_> {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        self.watched.notify_one();
        Watching(self)
    }

    fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    fn names(&self) -> Vec<String> {
        self.state.read().all.keys().cloned().collect()
    }

    fn end_look(&self) {
        self.looks.send_modify(|looks| *looks += 1);
    }

    fn list(&self, now_ms: u64, listed: Result<Vec<NamespaceConfig>, Problem>) {
        let mut state = self.state.write();
        match listed {
            Ok(listed) => state.list(listed),
            Err(problem) => {
                state.trouble = Some(Trouble::next(state.trouble.take(), now_ms, problem))
            }
        }
    }

    /// A namespace that nobody listed yet is listed by this.
    fn note(&self, name: &str, looked: Result<Picture, Problem>, now_ms: u64) {
        let mut state = self.state.write();
        let seen = match (state.all.get_mut(name), &looked) {
            (Some(seen), _) => seen,
            (None, Ok(picture)) => {
                let kind = picture.described.r#type.clone();
                let new = Seen { name: name.to_owned(), kind, ..Seen::default() };
                state.all.entry(name.to_owned()).or_insert(new)
            }
            (None, Err(_)) => return,
        };
        match looked {
            Ok(picture) => seen.take(picture),
            Err(problem) => {
                seen.trouble = Some(Trouble::next(seen.trouble.take(), now_ms, problem));
            }
        }
    }
}

impl State {
    fn list(&mut self, listed: Vec<NamespaceConfig>) {
        let mut before = std::mem::take(&mut self.all);
        for NamespaceConfig { name, r#type, .. } in listed {
            let fresh = || Seen { name: name.clone(), ..Seen::default() };
            let seen = before.remove(&name).unwrap_or_else(fresh);
            self.all.insert(name, Seen { kind: r#type, ..seen });
        }
        self.is_listed = true;
        self.trouble = None;
    }
}

impl Seen {
    fn take(&mut self, picture: Picture) {
        Arc::make_mut(&mut self.series).add(Point::of(&picture));
        self.picture = Some(Arc::new(picture));
        self.trouble = None;
    }
}

impl Trouble {
    /// Goes on from the trouble before.
    fn next(before: Option<Self>, now_ms: u64, problem: Problem) -> Self {
        let since_ms = before.map_or(now_ms, |it| it.since_ms);
        Self { since_ms, problem }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str) -> NamespaceConfig {
        NamespaceConfig { name: name.to_owned(), r#type: "fixed".to_owned(), ..Default::default() }
    }

    fn away() -> Problem {
        Problem::Away("nobody leads it".to_owned())
    }

    #[test]
    fn what_was_seen_stays_when_a_look_fails() {
        let fleet = Fleet::default();
        fleet.list(0, Ok(vec![config("a")]));
        fleet.note("a", Ok(Picture { taken_ms: 1, ..Picture::default() }), 1);
        fleet.note("a", Err(away()), 2);
        fleet.note("a", Err(away()), 3);
        let seen = fleet.seen("a").unwrap();
        assert_eq!(seen.picture.map(|it| it.taken_ms), Some(1));
        assert_eq!(seen.trouble.map(|it| it.since_ms), Some(2));
        fleet.list(4, Err(away()));
        assert_eq!(fleet.overview().all.len(), 1);
    }

    #[test]
    fn what_is_listed_no_more_is_gone_and_the_rest_keeps_its_past() {
        let fleet = Fleet::default();
        fleet.list(0, Ok(vec![config("a"), config("b")]));
        fleet.note("a", Ok(Picture { taken_ms: 7, ..Picture::default() }), 7);
        fleet.list(8, Ok(vec![config("a")]));
        assert!(fleet.seen("b").is_none());
        assert_eq!(fleet.seen("a").unwrap().series.points().count(), 1);
    }

    #[test]
    fn looks_are_frequent_only_while_somebody_watches() {
        let fleet = Fleet::default();
        let watching = fleet.watch();
        assert!(fleet.is_watched());
        drop(watching);
        assert!(!fleet.is_watched());
    }
}
