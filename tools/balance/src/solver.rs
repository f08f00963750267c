//! The best placement there is, if it can be found: what a planner is measured
//! against where the water-filled bound is out of reach because shards are
//! coarse.
//!
//! Up to [`EXACT_SHARDS`] shards a branch and bound goes through every placement
//! and proves its answer. Above that a local search with restarts runs until its
//! deadline, and its answer is only the best that was found. Moves cost nothing
//! here: this is a yardstick and no planner.

mod exact;
mod search;

use std::time::Duration;

use plimsoll_placement::measures::Balance;

/// The most shards that are worth going through.
pub const EXACT_SHARDS: usize = 18;

/// A placement and whether nothing is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// By shard: the position of its host.
    pub owners: Vec<u32>,
    /// Population standard deviation of host load over its mean.
    pub spread: f64,
    pub proven: bool,
}

/// The best placement of these loads on so many equal hosts, found until the
/// deadline; `start` names a host for every shard.
pub fn best(loads: &[f64], hosts: usize, start: &[u32], deadline: Duration, seed: u64) -> Best {
    let proven = loads.len() <= EXACT_SHARDS;
    let owners = if proven {
        exact::solve(loads, hosts)
    } else {
        search::solve(loads, hosts, start, deadline, seed)
    };
    Best { spread: spread(loads, hosts, &owners), owners, proven }
}

fn spread(loads: &[f64], hosts: usize, owners: &[u32]) -> f64 {
    Balance::of(&sums(loads, hosts, owners), 1.0).spread
}

fn sums(loads: &[f64], hosts: usize, owners: &[u32]) -> Vec<f64> {
    let mut sums = vec![0.0; hosts];
    for (load, &owner) in loads.iter().zip(owners) {
        sums[owner as usize] += load;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_split_is_found_and_proven() {
        let best = best(&[5.0, 5.0, 4.0, 3.0, 3.0], 2, &[0; 5], Duration::ZERO, 1);
        assert_eq!((best.spread, best.proven), (0.0, true));
    }

    #[test]
    fn the_search_comes_as_close_as_the_proof() {
        let loads: Vec<f64> = (0..14u32).map(|n| f64::from((n * n * 37) % 101 + 5)).collect();
        let proven = best(&loads, 4, &[0; 14], Duration::ZERO, 1);
        let found = search::solve(&loads, 4, &[0; 14], Duration::from_millis(300), 1);
        let found = spread(&loads, 4, &found);
        assert!(found >= proven.spread - 1e-12);
        assert!(found <= proven.spread + 0.005, "{found} against {}", proven.spread);
    }
}
