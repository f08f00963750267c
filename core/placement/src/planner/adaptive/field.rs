//! Hosts in order of how far they are from the level, kept while shards move.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::load::Ordered;
use crate::measures::lower_bound_over;
use crate::view::{ExecutorIndex, ShardIndex, ShardView};

use super::super::by_host::ByHost;
use super::super::draft::Draft;
use super::host::{Book, Host, Shelf};
use super::leg::{Leg, Step};
use super::reach::Reach;
use super::worth::{Side, Way, Worth};

/// Deviations of a host's load that noise explains. At four, one of 31,000 hosts
/// would seem hot by noise alone in every time constant; but most are truly a
/// little above the level or below it, and drift, which leaves them that much
/// closer. Over a day of noise of 30 % and drift of 10 %, 1,000 shards move 3 to 4
/// times an hour at five, less than once at six. At seven, some shards that double
/// for good are put right only after half a minute.
const NOISE: f64 = 6.0;

/// What sending a shard elsewhere than first thought costs, as a part of what a
/// move costs: enough not to go on for ever.
const RETHINK: f64 = 0.25;

/// In least tolerances: closer to the level than that, a host is not worth the
/// load that a detour carries. With all hosts there, the spread is still within a
/// point of the best.
const FAR_OFF: f64 = 2.5;

/// How far beyond the level a step may bring a host, as a part of its tolerance.
/// Half, so that what has just been evened out is not at once at the edge.
const SLACK: f64 = 0.5;

#[derive(Debug)]
pub(super) struct Field<'a> {
    draft: &'a Draft<'a>,
    reach: Reach,
    groups: ByHost,
    /// What hosts carry that no single shard pins, per unit of capacity.
    pub(super) level: f64,
    /// The level once executors that have just come take their share; none if
    /// there are none. What is filled above it by then must be emptied again.
    level_to_come: Option<f64>,
    pub(super) worth: Worth,
    /// In order of id.
    hosts: Vec<Host>,
    /// By [`Field::heat`].
    ladder: BTreeSet<(Ordered, u32)>,
    /// By executor.
    ranks: Vec<Option<u32>>,
    steps: Vec<Step>,
}

impl<'a> Field<'a> {
    pub(super) fn new(draft: &'a Draft<'a>, reach: Reach) -> Self {
        let settled = draft.settled();
        let mut ranks = vec![None; draft.view.executors.len()];
        for (rank, executor) in (0u32..).zip(&settled) {
            ranks[executor.0 as usize] = Some(rank);
        }
        let mut hosts: Vec<Host> = settled.iter().map(|&executor| host(draft, executor)).collect();
        let mut loads = Vec::with_capacity(draft.view.shards.len());
        for (index, shard) in draft.shards() {
            let rank = draft.owner(index).and_then(|owner| ranks[owner.0 as usize]);
            let Some(rank) = rank else { continue };
            let load = draft.weight(shard);
            hosts[rank as usize].see(load, shard, reach.includes(draft, index));
            loads.push(load);
        }
        let capacities: Vec<f64> = hosts.iter().map(|host| host.capacity).collect();
        let level = lower_bound_over(loads, &capacities).level;
        let mean_capacity = capacities.iter().sum::<f64>() / capacities.len().max(1) as f64;
        let mut field = Self {
            draft,
            reach,
            groups: ByHost::new(draft),
            level,
            level_to_come: level_to_come(draft, &settled),
            worth: Worth::new(level, mean_capacity),
            hosts,
            ladder: BTreeSet::new(),
            ranks,
            steps: Vec::new(),
        };
        field.ladder = field.ranks().map(|rank| (Ordered(field.heat(rank)), rank)).collect();
        field
    }

    pub(super) fn ranks(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.hosts.len() as u32
    }

    pub(super) fn host(&self, rank: u32) -> &Host {
        &self.hosts[rank as usize]
    }

    /// From the hottest down; of equals, the highest id first.
    pub(super) fn hottest_first(&self) -> impl Iterator<Item = u32> {
        self.ladder.iter().rev().map(|&(_, rank)| rank)
    }

    /// From the coldest up; of equals, the lowest id first.
    pub(super) fn coldest_first(&self) -> impl Iterator<Item = u32> {
        self.ladder.iter().map(|&(_, rank)| rank)
    }

    pub(super) fn hot_hosts(&self) -> impl Iterator<Item = u32> {
        self.hottest_first()
            .take_while(|&rank| self.heat(rank) > 0.0)
            .filter(|&rank| self.is_hot(rank))
    }

    /// Load above what the host must or should carry, per unit of capacity; below
    /// zero if there is room. It must carry its largest shard, if that is above
    /// its share: wherever that went, it would be above the share there.
    pub(super) fn heat(&self, rank: u32) -> f64 {
        self.heat_over(rank, self.level)
    }

    fn heat_over(&self, rank: u32, level: f64) -> f64 {
        let host = self.host(rank);
        let share = level * host.capacity;
        (host.load - share.max(host.largest())) / host.capacity
    }

    /// What hosts carry when all that has come takes part.
    pub(super) fn final_level(&self) -> f64 {
        self.level_to_come.unwrap_or(self.level)
    }

    /// Whether executors that have just come are about to take their share.
    pub(super) fn awaits_newcomers(&self) -> bool {
        self.level_to_come.is_some()
    }

    /// How far from the level, per unit of capacity, a host may be.
    pub(super) fn tolerance(&self, rank: u32) -> f64 {
        let (host, adaptive) = (self.host(rank), &self.draft.policy.adaptive);
        let noise = NOISE * host.variance.sqrt() / host.capacity;
        let least = adaptive.min_tolerance * self.level;
        noise.max(least).min((adaptive.max_tolerance * self.level).max(least))
    }

    pub(super) fn is_hot(&self, rank: u32) -> bool {
        self.heat(rank) > self.tolerance(rank)
    }

    pub(super) fn is_cold(&self, rank: u32) -> bool {
        self.heat(rank) < -self.tolerance(rank)
    }

    /// Whether a host is so far from the level that a detour may be worth it.
    pub(super) fn is_far_off(&self, rank: u32) -> bool {
        let times = match self.reach {
            Reach::Placed => 1.0,
            Reach::All => FAR_OFF,
        };
        let least = times * self.draft.policy.adaptive.min_tolerance * self.level;
        self.heat(rank).abs() > self.tolerance(rank).max(least)
    }

    /// The load above what the host must or should carry.
    pub(super) fn excess(&self, rank: u32) -> f64 {
        self.heat(rank) * self.host(rank).capacity
    }

    /// The most load that may leave without making the host cold.
    pub(super) fn spare(&self, rank: u32) -> f64 {
        (self.heat(rank) + SLACK * self.tolerance(rank)) * self.host(rank).capacity
    }

    /// The most load that may come without making the host hot, now or soon.
    pub(super) fn room(&self, rank: u32) -> f64 {
        self.room_below(rank, self.final_level())
    }

    /// Whether a load that does not fit may be sent there all the same: not while
    /// newcomers are awaited, unless it will fill a host wherever it is.
    pub(super) fn may_overfill(&self, rank: u32, load: f64) -> bool {
        let share = self.final_level() * self.host(rank).capacity;
        !self.awaits_newcomers() || load > share
    }

    fn room_below(&self, rank: u32, level: f64) -> f64 {
        (SLACK * self.tolerance(rank) - self.heat_over(rank, level)) * self.host(rank).capacity
    }

    /// What the largest shards together carry that a host could give away one by
    /// one until it is down to its share; less than that if they are too few.
    pub(super) fn sheddable(&self, rank: u32) -> f64 {
        let excess = self.excess(rank);
        let coldest = self.coldest_first().next();
        let room = coldest.map_or(0.0, |coldest| self.room_below(coldest, self.level));
        let largest = excess.min(room);
        let mut sum = 0.0;
        for book in self.shelf(rank).up_to(largest).iter().rev() {
            if sum >= excess {
                break;
            }
            sum += book.load;
        }
        sum
    }

    /// What it has, as the field was made.
    pub(super) fn shards(&self, rank: u32) -> &[ShardIndex] {
        self.groups.shards(self.host(rank).executor)
    }

    /// Whether the host and the coldest would be more even without that load.
    pub(super) fn helps(&self, rank: u32, load: f64) -> bool {
        let coldest = self.coldest_first().find(|&coldest| coldest != rank);
        let gain = |to| self.worth.gain(self.host(rank).side(), self.host(to).side(), load);
        load > 0.0 && coldest.is_some_and(|to| gain(to) > 0.0)
    }

    pub(super) fn shelf(&self, rank: u32) -> &Shelf {
        self.host(rank).shelf.get_or_init(|| self.build_shelf(rank))
    }

    fn build_shelf(&self, rank: u32) -> Shelf {
        let shards = self.shards(rank).iter();
        let movable = shards.filter_map(|&index| {
            let shard = self.draft.shard(index);
            self.reach.includes(self.draft, index).then(|| self.book(index, shard))
        });
        Shelf::new(movable.collect())
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

    /// What taking these legs gains beyond what it costs; each leg goes between
    /// the same two hosts, one way or the other.
    pub(super) fn merit(&self, from: u32, to: u32, legs: &[Leg], way: Way) -> f64 {
        let net = |leg: &Leg| if leg.from == from { leg.book.load } else { -leg.book.load };
        let price = |leg: &Leg| self.price(leg, way);
        let gain = self.worth.gain(
            self.host(from).side(),
            self.host(to).side(),
            legs.iter().map(net).sum(),
        );
        gain - legs.iter().map(price).sum::<f64>()
    }

    /// Whether a host that is too hot gains more than a shard costs that is too
    /// large for its excess: others fill the hole that it leaves, so that in the
    /// end the excess is all that is gained.
    pub(super) fn is_worth_a_hole(&self, leg: &Leg) -> bool {
        let host = self.host(leg.from);
        let at_share = Side { load: host.load - self.excess(leg.from), ..host.side() };
        self.worth.relief(host.side(), at_share) > self.price(leg, Way::Detour)
    }

    /// One that has left already costs little to send elsewhere. One that comes
    /// home was never moved; what is saved is counted as if it had left directly,
    /// so that no shard can gain by leaving and coming back.
    fn price(&self, leg: &Leg, way: Way) -> f64 {
        let price = |way| self.worth.price(way, leg.book.load, leg.book.cost.into());
        match (leg.is_home(leg.from), leg.is_home(leg.to)) {
            (true, _) => price(way),
            (false, true) => -price(Way::Direct),
            (false, false) => RETHINK * price(way),
        }
    }

    /// Whether the host must carry that shard: its largest, and more than its
    /// share. On no host of its size would things be better with it. Of two as
    /// large, it must carry one.
    pub(super) fn is_pinned(&self, book: &Book, from: u32, to: u32) -> bool {
        let (host, other) = (self.host(from), self.host(to));
        book.load > self.level * host.capacity
            && other.capacity <= host.capacity
            && book.load > host.largest_fixed
            && self.shelf(from).largest().is_some_and(|largest| largest.shard == book.shard)
    }

    /// Carries legs out together.
    pub(super) fn take(&mut self, legs: &[Leg]) {
        let touched: BTreeSet<u32> = legs.iter().flat_map(|leg| [leg.from, leg.to]).collect();
        let before = self.unevenness(&touched);
        for &rank in &touched {
            self.ladder.remove(&(Ordered(self.heat(rank)), rank));
            self.shelf(rank);
        }
        for leg in legs {
            self.shift(leg);
        }
        for &rank in &touched {
            self.ladder.insert((Ordered(self.heat(rank)), rank));
        }
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
    Host {
        executor,
        capacity: draft.capacity(executor),
        load: draft.load(executor),
        variance: 0.0,
        largest_fixed: 0.0,
        largest_seen: 0.0,
        shelf: OnceCell::new(),
        was_empty: draft.was_empty(executor),
    }
}

impl Host {
    fn see(&mut self, load: f64, shard: &ShardView, is_movable: bool) {
        self.variance += shard.load.map_or(0.0, |load| load.variance);
        self.largest_seen = self.largest_seen.max(load);
        if !is_movable {
            self.largest_fixed = self.largest_fixed.max(load);
        }
    }
}
