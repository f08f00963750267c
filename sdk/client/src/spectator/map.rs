//! The table that the watch keeps, and beside it the few answers that are newer.
//!
//! An answer to a lookup is kept until the watch says something of the same shard
//! or 5 s have passed: so a key that was just created costs one call, and a wrong
//! answer does not live long.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;
use plimsoll_routing::{Delta, Lookup, Rejected, Table};

use super::Owner;

const ANSWERS_LAST: Duration = Duration::from_secs(5);
/// From this many on, answers that have passed are swept with every new one.
const MANY_ANSWERS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Map {
    table: Table,
    answers: HashMap<Arc<str>, Answer>,
}

#[derive(Debug)]
struct Answer {
    owner: Owner,
    until: Time,
}

/// What the map knows of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    Owner(Owner),
    Drained,
    Unknown,
}

impl Map {
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Of an answer and a route, the later grant counts.
    pub(super) fn find(&self, now: Time, key: &str) -> Found {
        match (self.table.lookup(key), self.answer(now, key)) {
            (Lookup::Drained, _) => Found::Drained,
            (Lookup::Owner(route), Some(answer)) if answer.generation > route.generation => {
                Found::Owner(answer.clone())
            }
            (Lookup::Owner(route), _) => Found::Owner(Owner {
                executor: Arc::clone(route.executor),
                generation: route.generation,
            }),
            (Lookup::Unknown, Some(answer)) => Found::Owner(answer.clone()),
            (Lookup::Unknown, None) => Found::Unknown,
        }
    }

    /// Keeps the answer to a lookup for a while.
    pub(super) fn remember(&mut self, now: Time, key: Arc<str>, owner: Owner) {
        if self.answers.len() >= MANY_ANSWERS {
            self.sweep(now);
        }
        self.answers.insert(key, Answer { owner, until: now + ANSWERS_LAST });
    }

    pub(super) fn apply_delta(&mut self, now: Time, delta: &Delta) -> Result<(), Rejected> {
        self.table.apply_delta(now, delta)?;
        for change in &delta.routes {
            self.answers.remove(&change.shard);
        }
        for shard in &delta.unowned {
            self.answers.remove(shard);
        }
        Ok(())
    }

    pub(super) fn keep_alive(&mut self, now: Time, revision: u64) -> Result<(), Rejected> {
        self.sweep(now);
        self.table.keep_alive(now, revision)
    }

    /// Takes a new table and gives back the old one, which may be large: it is
    /// better dropped when nobody waits for this map.
    pub(super) fn replace(&mut self, table: Table) -> Table {
        std::mem::replace(&mut self.table, table)
    }

    fn answer(&self, now: Time, key: &str) -> Option<&Owner> {
        if self.answers.is_empty() {
            return None;
        }
        self.answers.get(key).filter(|answer| now < answer.until).map(|answer| &answer.owner)
    }

    fn sweep(&mut self, now: Time) {
        self.answers.retain(|_, answer| now < answer.until);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_routing::{RouteChange, RoutedExecutor, SnapshotPart};

    use super::*;

    const NOW: Time = Time::ZERO;

    #[test]
    fn an_answer_counts_until_five_seconds_have_passed() {
        let mut map = loaded();
        map.remember(NOW, "new".into(), owner("b", 9));
        let almost = Time::from_millis(4_999);
        assert_eq!(map.find(almost, "new"), Found::Owner(owner("b", 9)));
        assert_eq!(map.find(Time::from_millis(5_000), "new"), Found::Unknown);
    }

    #[test]
    fn the_later_grant_counts() {
        let mut map = loaded();
        map.remember(NOW, "1".into(), owner("b", 4));
        assert_eq!(map.find(NOW, "1"), Found::Owner(owner("a", 5)));
        map.remember(NOW, "1".into(), owner("b", 6));
        assert_eq!(map.find(NOW, "1"), Found::Owner(owner("b", 6)));
    }

    #[test]
    fn what_the_watch_says_ends_an_answer() {
        let mut map = loaded();
        map.remember(NOW, "new".into(), owner("b", 9));
        let unowned = Delta { from: 1, to: 2, unowned: vec!["new".into()], ..Delta::default() };
        map.apply_delta(NOW, &unowned).unwrap();
        assert_eq!(map.find(NOW, "new"), Found::Unknown);
    }

    fn loaded() -> Map {
        let mut table = Table::new();
        let part = SnapshotPart {
            revision: 1,
            first: true,
            last: true,
            executors: vec![owner("a", 0).executor],
            routes: vec![RouteChange { shard: "1".into(), executor: "a".into(), generation: 5 }],
            ..SnapshotPart::default()
        };
        table.apply_part(NOW, part).unwrap();
        let mut map = Map::default();
        map.replace(table);
        map
    }

    fn owner(id: &str, generation: u64) -> Owner {
        let executor = Arc::new(RoutedExecutor { id: id.into(), metadata: BTreeMap::new() });
        Owner { executor, generation }
    }
}
