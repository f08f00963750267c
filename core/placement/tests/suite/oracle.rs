//! The greedy planner against a plain transcription of the reference's
//! pseudo-code (`go-shard-manager-server.md` 3.5), which looks at everything each
//! time and is too slow to use.
//!
//! Loads are multiples of an eighth, and the mean that unmeasured shards count as
//! is one too: every sum and benefit is then exact, and the two must agree on
//! every tie. The reference leaves ties to chance; they are settled here as the
//! planner promises.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use plimsoll_placement::plan;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::{Greedy, Mode, Policy};
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, Load, ShardView, View};

const NOW: Time = Time::from_millis(1_000_000);

/// Shard, from, to.
type Step = (usize, usize, usize);

fn reference(view: &View, greedy: &Greedy) -> Vec<Step> {
    let measured: Vec<f64> =
        view.shards.iter().filter_map(|shard| shard.load).map(|load| load.smoothed).collect();
    let stand_in = if measured.is_empty() {
        0.0
    } else {
        measured.iter().sum::<f64>() / measured.len() as f64
    };
    let load_of = |shard: usize| view.shards[shard].load.map_or(stand_in, |load| load.smoothed);

    let mut owners: Vec<usize> =
        view.shards.iter().map(|shard| shard.owner.unwrap().0 as usize).collect();
    let mut loads = vec![0.0; view.executors.len()];
    for (shard, &owner) in owners.iter().enumerate() {
        loads[owner] += load_of(shard);
    }
    let mean = loads.iter().sum::<f64>() / loads.len() as f64;
    let mut budget = (greedy.move_budget_proportion * view.shards.len() as f64).ceil() as usize;
    let mut moves: Vec<Step> = Vec::new();

    'pass: while budget > 0 {
        let mut sources: Vec<usize> = (0..loads.len())
            .filter(|&host| loads[host] > mean * greedy.hysteresis_upper_band)
            .collect();
        let mut dests: Vec<usize> = (0..loads.len())
            .filter(|&host| loads[host] < mean * greedy.hysteresis_lower_band)
            .collect();
        if sources.is_empty() {
            break;
        }
        if dests.is_empty() {
            let max = loads.iter().copied().fold(0.0, f64::max);
            if mean > 0.0 && max / mean >= greedy.severe_imbalance_ratio {
                dests = (0..loads.len()).collect();
            } else {
                break;
            }
        }
        dests.sort_by(|&a, &b| loads[a].total_cmp(&loads[b]).then(a.cmp(&b)));
        sources.sort_by(|&a, &b| loads[b].total_cmp(&loads[a]).then(b.cmp(&a)));
        let d = dests[0];
        for s in sources.into_iter().filter(|&s| s != d) {
            let mut best: Option<(f64, usize)> = None;
            for shard in (0..owners.len()).filter(|&shard| owners[shard] == s) {
                let seen = &view.shards[shard];
                let cooled = seen.moved_at.is_none_or(|at| NOW - at >= greedy.per_shard_cooldown);
                let l = load_of(shard);
                let eligible = moves.iter().all(|&(moved, ..)| moved != shard)
                    && seen.load.is_some()
                    && l >= 0.01
                    && cooled
                    && !seen.fixed;
                let benefit = 2.0 * l * (loads[s] - loads[d] - l);
                let wins = best.is_none_or(|(most, than)| {
                    let rank = |shard: usize| (load_of(shard), view.shards[shard].key_hash);
                    benefit > most || benefit == most && rank(shard) < rank(than)
                });
                if eligible && benefit > 0.0 && wins {
                    best = Some((benefit, shard));
                }
            }
            if let Some((_, shard)) = best {
                owners[shard] = d;
                loads[s] -= load_of(shard);
                loads[d] += load_of(shard);
                moves.push((shard, s, d));
                budget -= 1;
                continue 'pass;
            }
        }
        break;
    }
    moves
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn greedy_makes_exactly_the_moves_of_the_reference(
        view in any_view(),
        greedy in any_greedy(),
    ) {
        let policy = Policy { mode: Mode::Greedy, greedy, ..Policy::default() };
        let ours: Vec<Step> = plan(NOW, &view, &policy, Scope::Full)
            .moves
            .iter()
            .map(|step| (step.shard.0, step.from.unwrap().0, step.to.0))
            .map(|(shard, from, to)| (shard as usize, from as usize, to as usize))
            .collect();
        prop_assert_eq!(ours, reference(&view, &greedy));
    }
}

#[test]
fn views_for_the_comparison_do_move_shards() {
    let mut runner = TestRunner::deterministic();
    let greedy = Greedy { move_budget_proportion: 0.3, ..Greedy::default() };
    let moves = (0..100).map(|_| {
        let view = any_view().new_tree(&mut runner).unwrap().current();
        reference(&view, &greedy).len()
    });
    assert!(moves.sum::<usize>() > 300);
}

fn any_greedy() -> impl Strategy<Value = Greedy> {
    (0.0..0.6f64, 0..90u64, 1.05..1.3f64, 0.7..0.95f64, 1.1..1.6f64).prop_map(
        |(move_budget_proportion, cooldown, upper, lower, severe)| Greedy {
            move_budget_proportion,
            per_shard_cooldown: Duration::from_secs(cooldown),
            hysteresis_upper_band: upper,
            hysteresis_lower_band: lower,
            severe_imbalance_ratio: severe,
            ..Greedy::default()
        },
    )
}

/// Open executors, each with a shard at least: what greedy alone decides on.
fn any_view() -> impl Strategy<Value = View> {
    (1..8usize).prop_flat_map(|hosts| {
        vec(any_shard(hosts), hosts..80).prop_map(move |mut shards| {
            for (host, shard) in shards.iter_mut().take(hosts).enumerate() {
                shard.owner = Some(ExecutorIndex(host as u32));
            }
            make_mean_exact(&mut shards);
            View { executors: (0..hosts).map(executor).collect(), shards: numbered(shards) }
        })
    })
}

fn executor(host: usize) -> ExecutorView {
    ExecutorView::new(format!("executor-{host}"), Candidacy::Open)
}

fn any_shard(hosts: usize) -> impl Strategy<Value = ShardView> {
    // Squaring makes few shards heavy and most light; the first host is hot.
    let load = option::weighted(0.9, (0..64u32).prop_map(|root| f64::from(root * root) / 8.0));
    let owner = prop_oneof![Just(0), 0..hosts as u32];
    let moved_at =
        option::of((0..100u64).prop_map(|ago| Time::from_millis(1_000_000 - ago * 1000)));
    (owner, load, moved_at, prop::bool::weighted(0.1)).prop_map(|(owner, load, moved_at, fixed)| {
        let load = load.map(|load| Load { reported: 0.0, ..Load::exactly(load) });
        let owner = Some(ExecutorIndex(owner));
        ShardView { owner, load, moved_at, fixed, ..ShardView::new(0) }
    })
}

/// Raises one load so that the mean of all is a multiple of an eighth.
fn make_mean_exact(shards: &mut [ShardView]) {
    let mut loads: Vec<&mut Load> =
        shards.iter_mut().filter_map(|shard| shard.load.as_mut()).collect();
    let count = loads.len() as u64;
    let eighths: u64 = loads.iter().map(|load| (load.smoothed * 8.0) as u64).sum();
    if let Some(first) = loads.first_mut() {
        first.smoothed += (count - eighths % count) as f64 / 8.0;
    }
}

fn numbered(mut shards: Vec<ShardView>) -> Vec<ShardView> {
    for (key, shard) in shards.iter_mut().enumerate() {
        shard.key_hash = key_hash(&key.to_string());
    }
    shards
}
