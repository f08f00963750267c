//! Greedy with the exchange that a fork of the Go Shard Manager adds.
//!
//! Where greedy finds no single move for a pass and budget for two is left, the
//! hottest host and the coldest one, which must be below the lower band, change
//! two shards: the pair that gains most of those that leave both hosts inside
//! the bands. One exchange a pass.

use plimsoll_placement::plan;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::{Greedy, Policy};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, ShardIndex, View};

use crate::world::{Step, apply, balance, host_loads, load_of, open, shard_loads};

/// The load from which a shard is worth a move: the Go server's constant.
const NEGLIGIBLE: f64 = 0.01;

/// Greedy with these settings, and the exchange.
#[derive(Clone, Copy, Debug)]
pub struct Swap {
    pub policy: Policy,
}

struct Bands {
    lower: f64,
    upper: f64,
}

struct Pair {
    given: ShardIndex,
    taken: ShardIndex,
    gain: f64,
}

impl Swap {
    /// What one pass would change.
    pub fn cycle(&self, now: Time, view: &View) -> Vec<Step> {
        let moves = plan(now, view, &self.policy, Scope::Full).moves;
        let mut steps: Vec<Step> =
            moves.iter().map(|it| Step { shard: it.shard, to: it.to }).collect();
        let greedy = &self.policy.greedy;
        let budget = (greedy.move_budget_proportion * view.shards.len() as f64).ceil() as usize;
        if steps.len() + 2 <= budget {
            let mut after = view.clone();
            apply(&mut after, &steps, now);
            steps.extend(exchange(now, &after, greedy));
        }
        steps
    }
}

fn exchange(now: Time, view: &View, greedy: &Greedy) -> Vec<Step> {
    let mean = balance(view).mean;
    let bands = Bands {
        lower: mean * greedy.hysteresis_lower_band,
        upper: mean * greedy.hysteresis_upper_band,
    };
    let loads = host_loads(view, shard_loads(view));
    let Some((cold, low)) = coldest(view, &loads).filter(|&(_, load)| load < bands.lower) else {
        return Vec::new();
    };
    let theirs = eligible(now, view, greedy, cold);
    let Some((hot, high, ours)) = hottest(now, view, greedy, &loads, bands.upper) else {
        return Vec::new();
    };
    match best_pair(view, &ours, &theirs, (high, low), &bands) {
        Some(Pair { given, taken, .. }) => {
            vec![Step { shard: given, to: cold }, Step { shard: taken, to: hot }]
        }
        None => Vec::new(),
    }
}

fn coldest(view: &View, loads: &[f64]) -> Option<(ExecutorIndex, f64)> {
    let hosts = open(view).into_iter().map(|host| (host, loads[host.0 as usize]));
    hosts.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The hottest host above the band that has a shard to give.
fn hottest(
    now: Time,
    view: &View,
    greedy: &Greedy,
    loads: &[f64],
    upper: f64,
) -> Option<(ExecutorIndex, f64, Vec<ShardIndex>)> {
    let load = |host: ExecutorIndex| loads[host.0 as usize];
    let mut hot: Vec<ExecutorIndex> =
        open(view).into_iter().filter(|&it| load(it) > upper).collect();
    hot.sort_by(|&a, &b| load(b).total_cmp(&load(a)));
    hot.into_iter()
        .map(|host| (host, load(host), eligible(now, view, greedy, host)))
        .find(|(_, _, shards)| !shards.is_empty())
}

/// The shards of a host that may move, lightest first.
fn eligible(now: Time, view: &View, greedy: &Greedy, host: ExecutorIndex) -> Vec<ShardIndex> {
    let cooling = |moved_at: Time| now.since(moved_at) < greedy.per_shard_cooldown;
    let mut shards: Vec<ShardIndex> = (0u32..)
        .map(ShardIndex)
        .zip(&view.shards)
        .filter(|(index, shard)| {
            shard.owner == Some(host)
                && !shard.fixed
                && load_of(view, *index) >= NEGLIGIBLE
                && !shard.moved_at.is_some_and(cooling)
        })
        .map(|(index, _)| index)
        .collect();
    shards.sort_by(|&a, &b| load_of(view, a).total_cmp(&load_of(view, b)));
    shards
}

fn best_pair(
    view: &View,
    ours: &[ShardIndex],
    theirs: &[ShardIndex],
    (high, low): (f64, f64),
    bands: &Bands,
) -> Option<Pair> {
    let ideal = (high - low) / 2.0;
    let inside = |load: f64| (bands.lower..=bands.upper).contains(&load);
    let pair = |&given: &ShardIndex, &taken: &ShardIndex| {
        let moved = load_of(view, given) - load_of(view, taken);
        let fits = moved > 0.0 && inside(high - moved) && inside(low + moved);
        let gain = high.powi(2) + low.powi(2) - (high - moved).powi(2) - (low + moved).powi(2);
        fits.then_some(Pair { given, taken, gain })
    };
    let neighbours = |given: &ShardIndex| {
        let wanted = load_of(view, *given) - ideal;
        let at = theirs.partition_point(|&it| load_of(view, it) < wanted);
        theirs[at.saturating_sub(1)..(at + 1).min(theirs.len())].iter()
    };
    let pairs =
        ours.iter().flat_map(|given| neighbours(given).filter_map(move |it| pair(given, it)));
    pairs.max_by(|a, b| a.gain.total_cmp(&b.gain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;

    const LATE: Time = Time::from_millis(1_000_000);

    fn cycle(view: &View, proportion: f64) -> Vec<Step> {
        let greedy = Greedy { move_budget_proportion: proportion, ..Greedy::default() };
        Swap { policy: Policy { greedy, ..Policy::default() } }.cycle(LATE, view)
    }

    /// Moving 8 would only turn the two around: 13, 5.
    fn stuck() -> View {
        view(&[&[8.0, 5.0], &[5.0], &[9.0], &[9.0]])
    }

    #[test]
    fn two_shards_change_places_where_no_single_move_helps() {
        let start = view(&[&[7.0, 6.0], &[4.0, 3.0], &[10.0], &[10.0]]);
        let steps = cycle(&start, 1.0);
        assert_eq!(steps.len(), 2);
        let mut after = start;
        apply(&mut after, &steps, LATE);
        assert_eq!(balance(&after).max, 10.0);
    }

    #[test]
    fn an_exchange_needs_budget_for_two() {
        let start = view(&[&[7.0, 6.0], &[4.0, 3.0], &[10.0], &[10.0]]);
        assert_eq!(cycle(&start, 0.1), []);
    }

    #[test]
    fn no_pair_means_no_exchange() {
        assert!(cycle(&stuck(), 1.0).len() < 2);
    }

    #[test]
    fn inside_the_bands_it_is_greedy() {
        assert_eq!(cycle(&view(&[&[5.0, 5.5], &[10.0]]), 1.0), []);
    }
}
