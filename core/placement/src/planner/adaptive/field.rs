//! Hosts in order of how far they are from the level, kept while shards move.

mod heat;
mod merit;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::load::Ordered;
use crate::view::{ExecutorIndex, ShardIndex, ShardView};

use super::super::draft::{Carried, Draft};
use super::host::{Book, Host, Shelf};
use super::leg::{Leg, Step};
use super::reach::Reach;
use super::worth::Worth;

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
    /// In order of id.
    hosts: Vec<Host>,
    /// By [`Field::heat`]; made when it is first needed, not where all is well.
    ladder: OnceCell<Ladder>,
    /// By executor.
    ranks: Vec<Option<u32>>,
    steps: Vec<Step>,
}

type Ladder = BTreeSet<(Ordered, u32)>;

impl<'a> Field<'a> {
    pub(super) fn new(draft: &'a Draft<'a>, reach: Reach) -> Self {
        let settled = draft.settled();
        let mut ranks = vec![None; draft.executors().len()];
        for (rank, executor) in (0u32..).zip(&settled) {
            ranks[executor.0 as usize] = Some(rank);
        }
        let hosts: Vec<Host> = settled.iter().map(|&executor| host(draft, executor)).collect();
        let level = draft.bound_over(&settled).level;
        let capacity: f64 = hosts.iter().map(|host| host.capacity).sum();
        Self {
            draft,
            reach,
            level,
            level_to_come: level_to_come(draft, &settled),
            worth: Worth::new(level, capacity / hosts.len().max(1) as f64),
            hosts,
            ladder: OnceCell::new(),
            ranks,
            steps: Vec::new(),
        }
    }

    fn ladder(&self) -> &Ladder {
        self.ladder
            .get_or_init(|| self.ranks().map(|rank| (Ordered(self.heat(rank)), rank)).collect())
    }

    /// Puts hosts where their loads have brought them.
    fn reorder(&mut self, ranks: &BTreeSet<u32>, before: &[f64]) {
        let after: Vec<f64> = ranks.iter().map(|&rank| self.heat(rank)).collect();
        let Some(ladder) = self.ladder.get_mut() else { return };
        for ((&rank, &before), &after) in ranks.iter().zip(before).zip(&after) {
            ladder.remove(&(Ordered(before), rank));
            ladder.insert((Ordered(after), rank));
        }
    }

    pub(super) fn ranks(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.hosts.len() as u32
    }

    pub(super) fn host(&self, rank: u32) -> &Host {
        &self.hosts[rank as usize]
    }

    /// From the hottest down; of equals, the highest id first.
    pub(super) fn hottest_first(&self) -> impl Iterator<Item = u32> {
        self.ladder().iter().rev().map(|&(_, rank)| rank)
    }

    /// From the coldest up; of equals, the lowest id first.
    pub(super) fn coldest_first(&self) -> impl Iterator<Item = u32> {
        self.ladder().iter().map(|&(_, rank)| rank)
    }

    pub(super) fn hot_hosts(&self) -> impl Iterator<Item = u32> {
        self.hottest_first()
            .take_while(|&rank| self.heat(rank) > 0.0)
            .filter(|&rank| self.is_hot(rank))
    }

    /// What it has, as the field was made.
    pub(super) fn shards(&self, rank: u32) -> Vec<ShardIndex> {
        self.draft.shards_of(self.host(rank).executor)
    }

    pub(super) fn shelf(&self, rank: u32) -> &Shelf {
        self.host(rank).shelf.get_or_init(|| self.build_shelf(rank))
    }

    fn build_shelf(&self, rank: u32) -> Shelf {
        let (mut books, mut largest_fixed) = (Vec::new(), 0.0_f64);
        for index in self.shards(rank) {
            let shard = self.draft.shard(index);
            if self.reach.includes(self.draft, index, &shard) {
                books.push(self.book(index, &shard));
            } else {
                largest_fixed = largest_fixed.max(self.draft.weight(&shard));
            }
        }
        Shelf::new(books, largest_fixed)
    }

    fn rank(&self, executor: Option<ExecutorIndex>) -> Option<u32> {
        executor.and_then(|executor| self.ranks[executor.0 as usize])
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
        let heat: Vec<f64> = touched.iter().map(|&rank| self.heat(rank)).collect();
        for &rank in &touched {
            self.shelf(rank);
        }
        for leg in legs {
            self.shift(leg);
        }
        self.reorder(&touched, &heat);
        let moves = legs.iter().map(|leg| (leg.book.shard, self.host(leg.to).executor)).collect();
        self.steps.push(Step { gain: before - self.unevenness(&touched), moves });
    }

    fn unevenness(&self, ranks: &BTreeSet<u32>) -> f64 {
        let square = |&rank: &u32| self.host(rank).load.powi(2) / self.host(rank).capacity;
        ranks.iter().map(square).sum()
    }

    fn shift(&mut self, leg: &Leg) {
        let shard = self.draft.shard(leg.book.shard);
        let variance = shard.load.map_or(0.0, |load| load.variance);
        let from = &mut self.hosts[leg.from as usize];
        from.load = (from.load - leg.book.load).max(0.0);
        from.variance = (from.variance - variance).max(0.0);
        if let Some(shelf) = from.shelf.get_mut() {
            shelf.remove(&leg.book);
        }
        let to = &mut self.hosts[leg.to as usize];
        to.load += leg.book.load;
        to.variance += variance;
        if let Some(shelf) = to.shelf.get_mut() {
            shelf.insert(leg.book);
        }
    }

    pub(super) fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    pub(super) fn into_steps(self) -> Vec<Step> {
        self.steps
    }
}

fn level_to_come(draft: &Draft<'_>, settled: &[ExecutorIndex]) -> Option<f64> {
    (settled.len() < draft.open().len()).then(|| draft.bound().level)
}

fn host(draft: &Draft<'_>, executor: ExecutorIndex) -> Host {
    let Carried { variance, largest } = draft.carried(executor);
    Host {
        executor,
        capacity: draft.capacity(executor),
        load: draft.load(executor),
        variance,
        largest_seen: largest,
        shelf: OnceCell::new(),
        was_empty: draft.was_empty(executor),
    }
}
