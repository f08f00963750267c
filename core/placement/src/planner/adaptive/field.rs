//! Hosts in order of how far they are from the level, kept while shards move.

mod heat;
mod merit;

use std::collections::BTreeSet;

use crate::standing::{Host, Trial};
use crate::view::{ExecutorIndex, ShardIndex, ShardView};

use super::super::draft::{Draft, Lent};
use super::leg::{Leg, Step};
use super::reach::Reach;
use super::shelf::{Book, Shelf, Shelves};
use super::worth::{Side, Worth};

#[derive(Debug)]
pub(super) struct Field<'a> {
    draft: &'a Draft<'a>,
    reach: Reach,
    /// What hosts carry that no single shard pins, per unit of capacity.
    pub(super) level: f64,
    /// The level once executors that have just come take their share; none if
    /// there are none. What is filled above it by then must be emptied again.
    level_to_come: Option<f64>,
    pub(super) worth: Worth,
    /// Hosts by rank, those that have just come left out.
    hosts: Trial,
    shelves: Shelves,
    steps: Vec<Step>,
}

impl<'a> Field<'a> {
    /// Borrows from the draft what [`Field::end`] gives back.
    pub(super) fn new(draft: &'a mut Draft<'_>, reach: Reach) -> Self {
        let newcomers = draft.newcomers();
        let level_to_come = (!newcomers.is_empty()).then(|| draft.bound().level);
        let Lent { mut standing, tried, shelves } = draft.lend();
        newcomers.into_iter().for_each(|rank| standing.leave_out(rank));
        let draft: &'a Draft<'a> = draft;
        let level = draft.bound_of(&standing).level;
        let mut field = Self {
            draft,
            reach,
            level,
            level_to_come,
            worth: Worth::new(level, standing.capacity() / standing.count().max(1) as f64),
            hosts: Trial::new(standing, level, tried),
            shelves: Shelves::new(shelves, draft.open().len()),
            steps: Vec::new(),
        };
        field.look_at_pinned();
        field
    }

    /// How noisy the shards are that pin their hosts.
    fn look_at_pinned(&mut self) {
        let pinned: Vec<u32> = self.hosts.pinned().collect();
        for rank in pinned {
            let largest = self.draft.largest_of(self.executor(rank));
            let largest_variance = largest.map_or(0.0, |shard| self.draft.variance(shard));
            let host = *self.host(rank);
            self.hosts.change(rank, Host { largest_variance, ..host });
        }
    }

    /// The steps to be carried out, and what was lent, as it was.
    pub(super) fn end(self) -> (Vec<Step>, Lent) {
        let (mut standing, tried) = self.hosts.end();
        standing.take_in_all();
        (self.steps, Lent { standing, tried, shelves: self.shelves.into_slots() })
    }

    pub(super) fn draft(&self) -> &'a Draft<'a> {
        self.draft
    }

    pub(super) fn host(&self, rank: u32) -> &Host {
        self.hosts.host(rank)
    }

    pub(super) fn side(&self, rank: u32) -> Side {
        let Host { load, capacity, .. } = *self.host(rank);
        Side { load, capacity }
    }

    pub(super) fn executor(&self, rank: u32) -> ExecutorIndex {
        self.draft.open()[rank as usize]
    }

    /// Whether it had nothing when the cycle began.
    pub(super) fn was_empty(&self, rank: u32) -> bool {
        self.draft.was_empty(self.executor(rank))
    }

    /// From the hottest down; of equals, the highest id first.
    pub(super) fn hottest_first(&self) -> impl Iterator<Item = u32> {
        self.hosts.hottest_first().map(|(_, rank)| rank)
    }

    /// From the coldest up; of equals, the lowest id first.
    pub(super) fn coldest_first(&self) -> impl Iterator<Item = u32> {
        self.hosts.coldest_first().map(|(_, rank)| rank)
    }

    /// The hottest first. Looks at none that is closer to the level than any may be.
    pub(super) fn hot_hosts(&self) -> impl Iterator<Item = u32> {
        let least = self.least_tolerance();
        let above = self.hosts.hottest_first().take_while(move |&(heat, _)| heat > least);
        above.map(|(_, rank)| rank).filter(|&rank| self.is_hot(rank))
    }

    /// Those that may be above the level they should have in the end, or are pinned,
    /// in no order: all that a report may have to name.
    pub(super) fn suspects(&self) -> impl Iterator<Item = u32> {
        let (floor, least) = (self.level.min(self.final_level()), self.least_tolerance());
        let fullest = self.hosts.fullest_first();
        let above = fullest.take_while(move |&(fullness, _)| fullness - floor > least);
        self.hosts.pinned().chain(above.map(|(_, rank)| rank))
    }

    /// What it has, as the field was made.
    pub(super) fn shards(&self, rank: u32) -> Vec<ShardIndex> {
        self.draft.shards_of(self.executor(rank))
    }

    pub(super) fn shelf(&self, rank: u32) -> &Shelf {
        self.shelves.get(rank, || self.build_shelf(rank))
    }

    fn build_shelf(&self, rank: u32) -> Shelf {
        let (mut books, mut fixed) = (Vec::new(), None);
        for index in self.shards(rank) {
            let shard = self.draft.shard(index);
            if self.reach.includes(self.draft, index, &shard) {
                books.push(self.book(index, &shard));
            } else {
                fixed = fixed.max(Some(self.draft.weighed(index)));
            }
        }
        Shelf::new(books, fixed)
    }

    fn rank(&self, executor: Option<ExecutorIndex>) -> Option<u32> {
        let rank = executor.and_then(|executor| self.draft.rank(executor));
        rank.filter(|&rank| self.hosts.is_in(rank))
    }

    fn book(&self, index: ShardIndex, shard: &ShardView) -> Book {
        Book {
            load: self.draft.weight(shard),
            key_hash: shard.key_hash,
            shard: index,
            home: self.rank(self.draft.home(index)),
            origin: self.rank(shard.owner),
            cost: shard.cost as f32,
        }
    }

    /// Carries legs out together.
    pub(super) fn take(&mut self, legs: &[Leg]) {
        let touched: BTreeSet<u32> = legs.iter().flat_map(|leg| [leg.from, leg.to]).collect();
        let before = self.unevenness(&touched);
        for &rank in &touched {
            self.shelf(rank);
        }
        for leg in legs {
            self.shift(leg);
        }
        let moves = legs.iter().map(|leg| (leg.book.shard, self.executor(leg.to))).collect();
        self.steps.push(Step { gain: before - self.unevenness(&touched), moves });
    }

    fn unevenness(&self, ranks: &BTreeSet<u32>) -> f64 {
        let square = |&rank: &u32| self.host(rank).load.powi(2) / self.host(rank).capacity;
        ranks.iter().map(square).sum()
    }

    fn shift(&mut self, leg: &Leg) {
        let variance = self.draft.variance(leg.book.shard);
        let from = *self.host(leg.from);
        self.change(
            leg.from,
            |shelf| shelf.remove(&leg.book),
            Host {
                load: (from.load - leg.book.load).max(0.0),
                variance: (from.variance - variance).max(0.0),
                ..from
            },
        );
        let to = *self.host(leg.to);
        self.change(
            leg.to,
            |shelf| shelf.insert(leg.book),
            Host { load: to.load + leg.book.load, variance: to.variance + variance, ..to },
        );
    }

    fn change(&mut self, rank: u32, change: impl FnOnce(&mut Shelf), host: Host) {
        let Some(shelf) = self.shelves.get_mut(rank) else { return };
        change(shelf);
        let largest = shelf.largest_of_all();
        self.hosts.change(
            rank,
            Host {
                largest: largest.map_or(0.0, |(load, ..)| load.0),
                largest_variance: largest.map_or(0.0, |(.., shard)| self.draft.variance(shard)),
                ..host
            },
        );
    }

    pub(super) fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }
}
