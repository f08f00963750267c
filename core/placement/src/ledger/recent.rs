//! Which shards have moved for balance lately.
//!
//! A move is forgotten when it is as long ago as the cooldown, the earliest first,
//! so nobody looks at the others to find out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::time::Time;
use crate::view::ShardIndex;

/// Moves that are not as long ago as the cooldown.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    at: BTreeMap<ShardIndex, Time>,
    /// The same, by time.
    in_order: BTreeSet<(Time, ShardIndex)>,
    /// When all shards moved, as far as anybody knows.
    all_at: Option<Time>,
    /// Until when the moves were looked at.
    now: Time,
}

impl Recent {
    /// When a shard moved last; `None` if that is too long ago to matter.
    pub(super) fn get(&self, shard: ShardIndex) -> Option<Time> {
        self.at.get(&shard).copied().max(self.all_at)
    }

    /// From now on every shard counts as moved then, unless it moved later.
    /// Whether it is another time than before.
    pub(super) fn set_all(&mut self, at: Option<Time>, cooldown: Duration) -> bool {
        let at = at.filter(|at| self.now.since(*at) < cooldown);
        std::mem::replace(&mut self.all_at, at) != at
    }

    /// Notes it, unless that is too long ago. Whether it is another time than
    /// before.
    pub(super) fn set(&mut self, shard: ShardIndex, at: Option<Time>, cooldown: Duration) -> bool {
        let at = at.filter(|at| self.now.since(*at) < cooldown);
        let before = match at {
            None if self.at.is_empty() => None,
            None => self.at.remove(&shard),
            Some(at) => self.at.insert(shard, at),
        };
        if before == at {
            return false;
        }
        before.map(|before| self.in_order.remove(&(before, shard)));
        self.in_order.extend(at.map(|at| (at, shard)));
        true
    }

    /// It is that time now.
    pub(super) fn advance(&mut self, now: Time, cooldown: Duration) {
        self.now = now;
        while let Some(&(at, shard)) = self.in_order.first()
            && now.since(at) >= cooldown
        {
            self.in_order.pop_first();
            self.at.remove(&shard);
        }
        self.all_at = self.all_at.filter(|at| now.since(*at) < cooldown);
    }

    /// When the first of them is to be forgotten.
    pub(super) fn next_end(&self, cooldown: Duration) -> Option<Time> {
        let first = self.in_order.first().map(|&(at, _)| at);
        first.into_iter().chain(self.all_at).min().map(|at| at + cooldown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(second: u64) -> Time {
        Time::from_millis(second * 1000)
    }

    #[test]
    fn the_earliest_is_forgotten_first() {
        let (mut recent, [a, b]) = (Recent::default(), [ShardIndex(1), ShardIndex(2)]);
        assert!(recent.set(a, Some(at(10)), MINUTE) && recent.set(b, Some(at(5)), MINUTE));
        assert!(!recent.set(b, Some(at(5)), MINUTE));
        assert_eq!(recent.next_end(MINUTE), Some(at(65)));
        recent.advance(at(65), MINUTE);
        assert_eq!((recent.get(a), recent.get(b)), (Some(at(10)), None));
        assert_eq!(recent.next_end(MINUTE), Some(at(70)));
    }

    #[test]
    fn a_later_move_takes_the_place_of_the_one_before() {
        let (mut recent, shard) = (Recent::default(), ShardIndex(1));
        recent.set(shard, Some(at(10)), MINUTE);
        assert!(recent.set(shard, Some(at(20)), MINUTE));
        recent.advance(at(70), MINUTE);
        assert_eq!(recent.get(shard), Some(at(20)));
        assert!(recent.set(shard, None, MINUTE));
        assert_eq!((recent.get(shard), recent.next_end(MINUTE)), (None, None));
    }

    #[test]
    fn when_all_have_moved_that_counts_until_it_is_too_long_ago() {
        let (mut recent, [a, b]) = (Recent::default(), [ShardIndex(1), ShardIndex(2)]);
        recent.set(a, Some(at(20)), MINUTE);
        assert!(recent.set_all(Some(at(10)), MINUTE) && !recent.set_all(Some(at(10)), MINUTE));
        assert_eq!((recent.get(a), recent.get(b)), (Some(at(20)), Some(at(10))));
        assert_eq!(recent.next_end(MINUTE), Some(at(70)));
        recent.advance(at(70), MINUTE);
        assert_eq!((recent.get(a), recent.get(b)), (Some(at(20)), None));
        assert!(!recent.set_all(Some(at(10)), MINUTE));
    }

    #[test]
    fn what_is_too_long_ago_is_not_noted() {
        let (mut recent, shard) = (Recent::default(), ShardIndex(1));
        recent.advance(at(100), MINUTE);
        assert!(!recent.set(shard, Some(at(40)), MINUTE));
        assert_eq!(recent.get(shard), None);
    }
}
