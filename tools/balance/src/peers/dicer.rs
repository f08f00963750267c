//! Dicer's placement phase for shards that cannot be split or replicated.
//!
//! A local search that lowers a cost: for a host below its least load
//! `4 (1 + u)^2 * shortfall` with `u` the shortfall as a part of that least, for
//! one above its largest load `16 (load / largest)^2 * excess`, 100 times the
//! largest for one that has nothing, and a quarter of its load for every shard
//! that is not where it was. The hottest host is asked first; of all its shards
//! and all targets the best pair moves, until no host has one.
//!
//! The load range is the mean give or take the tolerance; a host that had
//! nothing must reach the mean. What a dead host had goes, largest first, where
//! it costs least. Dicer itself also splits, merges and replicates.

use plimsoll_placement::view::{ExecutorIndex, ShardIndex, View};

use crate::world::Step;

use super::tray::Tray;

/// What a shard costs that is newly placed, as a part of its load.
const CHURN: f64 = 0.25;

/// The placement phase with one tolerance.
#[derive(Clone, Copy, Debug)]
pub struct Dicer {
    /// How far a host may be from the mean, as a part of it.
    pub tolerance: f64,
}

impl Dicer {
    /// The tolerance that applications get if they say nothing.
    pub const DEFAULT: Self = Self { tolerance: 0.10 };
    /// The tightest that they can ask for.
    pub const TIGHT: Self = Self { tolerance: 0.025 };

    /// What one pass would change.
    pub fn cycle(self, view: &View) -> Vec<Step> {
        let tray = Tray::new(view);
        if tray.hosts.is_empty() {
            return Vec::new();
        }
        let mut search = Search::new(view, tray, self.tolerance);
        search.place_homeless();
        while search.improve() {}
        search.tray.into_steps(view)
    }
}

struct Search<'a> {
    view: &'a View,
    tray: Tray,
    /// By place: the least load it should have.
    least: Vec<f64>,
    largest: f64,
}

#[derive(Clone, Copy)]
struct Candidate {
    shard: ShardIndex,
    from: usize,
    to: usize,
    /// By how much the cost changes.
    change: f64,
}

impl<'a> Search<'a> {
    fn new(view: &'a View, tray: Tray, tolerance: f64) -> Self {
        let homeless: f64 = tray.homeless.iter().map(|&shard| tray.load(shard)).sum();
        let total: f64 = tray.hosts.iter().map(|host| host.load).sum::<f64>() + homeless;
        let mean = total / tray.hosts.len() as f64;
        let least = |is_new: bool| if is_new { mean } else { mean * (1.0 - tolerance) };
        Self {
            view,
            least: tray.hosts.iter().map(|host| least(host.shards.is_empty())).collect(),
            largest: mean * (1.0 + tolerance),
            tray,
        }
    }

    fn place_homeless(&mut self) {
        let mut homeless = std::mem::take(&mut self.tray.homeless);
        homeless.sort_by(|&a, &b| self.tray.load(b).total_cmp(&self.tray.load(a)));
        for shard in homeless {
            let load = self.tray.load(shard);
            let change = |&place: &usize| self.gaining(place, load);
            let places = 0..self.tray.hosts.len();
            let best = places.min_by(|a, b| change(a).total_cmp(&change(b)));
            self.tray.give(shard, best.unwrap_or_default());
        }
    }

    /// Makes the best move of the hottest host that has one.
    fn improve(&mut self) -> bool {
        let mut places: Vec<usize> = (0..self.tray.hosts.len()).collect();
        places.sort_by(|&a, &b| self.tray.hosts[b].load.total_cmp(&self.tray.hosts[a].load));
        let Some(best) = places.into_iter().find_map(|from| self.best_from(from)) else {
            return false;
        };
        self.tray.carry(best.shard, best.from, best.to);
        true
    }

    fn best_from(&self, from: usize) -> Option<Candidate> {
        let targets = (0..self.tray.hosts.len()).filter(|&to| to != from);
        let pairs = targets
            .flat_map(|to| self.tray.hosts[from].shards.iter().map(move |&shard| (shard, to)));
        let candidates = pairs.map(|(shard, to)| self.candidate(shard, from, to));
        let best = candidates.min_by(|a, b| a.change.total_cmp(&b.change))?;
        (best.change < -1e-9 * self.largest).then_some(best)
    }

    fn candidate(&self, shard: ShardIndex, from: usize, to: usize) -> Candidate {
        let load = self.tray.load(shard);
        let hosts = &self.tray.hosts;
        let churn = self.churn(shard, hosts[to].index) - self.churn(shard, hosts[from].index);
        let change = self.losing(from, load) + self.gaining(to, load) + churn;
        Candidate { shard, from, to, change }
    }

    fn churn(&self, shard: ShardIndex, on: ExecutorIndex) -> f64 {
        let is_home = self.view.shards[shard.0 as usize].owner == Some(on);
        if is_home { 0.0 } else { CHURN * self.tray.load(shard) }
    }

    fn gaining(&self, place: usize, load: f64) -> f64 {
        let host = &self.tray.hosts[place];
        let shards = host.shards.len();
        self.cost(place, host.load + load, shards + 1) - self.cost(place, host.load, shards)
    }

    fn losing(&self, place: usize, load: f64) -> f64 {
        let host = &self.tray.hosts[place];
        let shards = host.shards.len();
        self.cost(place, host.load - load, shards - 1) - self.cost(place, host.load, shards)
    }

    fn cost(&self, place: usize, load: f64, shards: usize) -> f64 {
        let (least, largest) = (self.least[place], self.largest);
        if largest <= 0.0 {
            return 0.0;
        }
        let short = (least - load).max(0.0);
        let over = (load - largest).max(0.0);
        let empty = if shards == 0 { 100.0 * largest } else { 0.0 };
        4.0 * (1.0 + short / least).powi(2) * short + 16.0 * (load / largest).powi(2) * over + empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;
    use crate::world::{apply, balance, drain, host_loads, shard_loads};
    use plimsoll_placement::time::Time;

    fn after(mut view: View, dicer: Dicer) -> View {
        let steps = dicer.cycle(&view);
        apply(&mut view, &steps, Time::ZERO);
        view
    }

    #[test]
    fn hosts_inside_the_tolerance_are_left_alone() {
        let steps = Dicer::DEFAULT.cycle(&view(&[&[1.0; 109], &[1.0; 91]]));
        assert_eq!(steps, []);
    }

    #[test]
    fn hosts_outside_come_back_to_the_edge_and_no_further() {
        let view = after(view(&[&[1.0; 140], &[1.0; 60]]), Dicer::DEFAULT);
        assert_eq!(host_loads(&view, shard_loads(&view)), [110.0, 90.0]);
    }

    #[test]
    fn a_tighter_tolerance_ends_closer() {
        let view = after(view(&[&[1.0; 140], &[1.0; 60]]), Dicer::TIGHT);
        assert!((balance(&view).max_over_mean() - 1.025).abs() < 0.01);
    }

    #[test]
    fn a_new_host_is_filled_to_the_mean() {
        let view = after(view(&[&[1.0; 60], &[1.0; 60], &[]]), Dicer::DEFAULT);
        assert_eq!(host_loads(&view, shard_loads(&view))[2], 40.0);
    }

    #[test]
    fn what_a_dead_host_had_goes_where_it_costs_least() {
        let mut start = view(&[&[6.0, 4.0], &[1.0; 10], &[1.0; 4]]);
        drain(&mut start, ExecutorIndex(0));
        let view = after(start, Dicer::DEFAULT);
        // One to each; the fuller gave one back to be inside the range.
        assert_eq!(host_loads(&view, shard_loads(&view)), [0.0, 13.0, 11.0]);
    }

    #[test]
    fn a_shard_too_large_for_any_host_stays_alone() {
        let view = after(view(&[&[50.0], &[1.0; 10], &[1.0; 10]]), Dicer::DEFAULT);
        assert_eq!(view.shards[0].owner, Some(ExecutorIndex(0)));
    }
}
