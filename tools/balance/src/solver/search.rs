//! A local search with restarts, bounded by a deadline.
//!
//! From a placement it takes the best of all single moves and exchanges between
//! two hosts until none lowers the sum of squared loads, then throws a few
//! shards of random hosts about and tries again from the best so far.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How many shards a restart throws about.
const KICK: usize = 6;

/// By shard: its host in the best placement found; at least one descent is made.
pub(super) fn solve(
    loads: &[f64],
    hosts: usize,
    start: &[u32],
    deadline: Duration,
    seed: u64,
) -> Vec<u32> {
    let (begun, mut rng) = (Instant::now(), Pcg64Mcg::seed_from_u64(seed));
    let mut current = Placement::new(loads, hosts, start);
    current.descend();
    let mut best = current.clone();
    while begun.elapsed() < deadline {
        current.kick(&mut rng);
        current.descend();
        if current.squares() < best.squares() {
            best = current.clone();
        } else if current.squares() > best.squares() * (1.0 + 1e-6) {
            current = best.clone();
        }
    }
    best.owners
}

#[derive(Clone)]
struct Placement<'a> {
    loads: &'a [f64],
    owners: Vec<u32>,
    sums: Vec<f64>,
    /// By host, heaviest first.
    shards: Vec<Vec<usize>>,
}

/// A single move, or an exchange if something comes back.
#[derive(Clone, Copy)]
struct Change {
    from: usize,
    to: usize,
    goes: usize,
    comes: Option<usize>,
    gain: f64,
}

impl<'a> Placement<'a> {
    fn new(loads: &'a [f64], hosts: usize, owners: &[u32]) -> Self {
        let mut shards = vec![Vec::new(); hosts];
        let mut order: Vec<usize> = (0..loads.len()).collect();
        order.sort_by(|&a, &b| loads[b].total_cmp(&loads[a]));
        order.into_iter().for_each(|shard| shards[owners[shard] as usize].push(shard));
        let sums = super::sums(loads, hosts, owners);
        Self { loads, owners: owners.to_vec(), sums, shards }
    }

    fn squares(&self) -> f64 {
        self.sums.iter().map(|sum| sum * sum).sum()
    }

    fn descend(&mut self) {
        while let Some(change) = self.best_change() {
            self.make(change);
        }
    }

    fn best_change(&self) -> Option<Change> {
        let mut hosts: Vec<usize> = (0..self.sums.len()).collect();
        hosts.sort_by(|&a, &b| self.sums[b].total_cmp(&self.sums[a]));
        let worth = self.squares() * 1e-12;
        for (place, &from) in hosts.iter().enumerate() {
            let changes = hosts[place + 1..].iter().flat_map(|&to| self.best_between(from, to));
            let best = changes.max_by(|a, b| a.gain.total_cmp(&b.gain));
            if let Some(best) = best.filter(|best| best.gain > worth) {
                return Some(best);
            }
        }
        None
    }

    /// The best move and the best exchange from a heavier host to a lighter one.
    fn best_between(&self, from: usize, to: usize) -> Option<Change> {
        let gap = self.sums[from] - self.sums[to];
        // Moving m changes the sum of squares by -2 m (gap - m).
        let gain = |moved: f64| 2.0 * moved * (gap - moved);
        let change = |goes: usize, comes: Option<usize>| {
            let moved = self.loads[goes] - comes.map_or(0.0, |shard| self.loads[shard]);
            Change { from, to, goes, comes, gain: gain(moved) }
        };
        let mut best: Option<Change> = None;
        for &goes in &self.shards[from] {
            let wanted = self.loads[goes] - gap / 2.0;
            let theirs = &self.shards[to];
            let at = theirs.partition_point(|&shard| self.loads[shard] > wanted);
            let near = theirs[at.saturating_sub(1)..(at + 1).min(theirs.len())].iter();
            let changes = near.map(|&comes| change(goes, Some(comes))).chain([change(goes, None)]);
            best = changes.chain(best).max_by(|a, b| a.gain.total_cmp(&b.gain));
        }
        best
    }

    fn make(&mut self, change: Change) {
        self.carry(change.goes, change.to);
        if let Some(comes) = change.comes {
            self.carry(comes, change.from);
        }
    }

    fn carry(&mut self, shard: usize, to: usize) {
        let from = self.owners[shard] as usize;
        let load = self.loads[shard];
        self.shards[from].retain(|&it| it != shard);
        let at = self.shards[to].partition_point(|&it| self.loads[it] > load);
        self.shards[to].insert(at, shard);
        self.owners[shard] = to as u32;
        self.sums[from] -= load;
        self.sums[to] += load;
    }

    fn kick(&mut self, rng: &mut Pcg64Mcg) {
        for _ in 0..rng.random_range(2..=KICK) {
            let shard = rng.random_range(0..self.loads.len());
            self.carry(shard, rng.random_range(0..self.sums.len()));
        }
        // Sums are anew, lest rounding gathers over millions of changes.
        self.sums = super::sums(self.loads, self.sums.len(), &self.owners);
    }
}
