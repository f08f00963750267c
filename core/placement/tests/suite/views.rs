//! Random views and policies, as a caller that keeps to the rules may have them.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::{Adaptive, Greedy, Mode, Naive, Policy};
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, Load, ShardView, View};

/// When every plan of a property is made.
pub(crate) const NOW: Time = Time::from_millis(1_000_000);

pub(crate) fn any_view() -> impl Strategy<Value = View> {
    (vec(any_executor(), 0..9)).prop_flat_map(|kinds| {
        let executors = executors(&kinds);
        vec(any_shard(executors.len()), 0..60)
            .prop_map(move |shards| View { executors: executors.clone(), shards: numbered(shards) })
    })
}

pub(crate) fn any_policy() -> impl Strategy<Value = Policy> {
    let greedy = (0..120u64, 0.0..0.5f64, 1.0..1.5f64, 0.5..1.0f64, 1.0..2.0f64).prop_map(
        |(cooldown, budget, upper, lower, severe)| Greedy {
            per_shard_cooldown: Duration::from_secs(cooldown),
            move_budget_proportion: budget,
            hysteresis_upper_band: upper,
            hysteresis_lower_band: lower,
            severe_imbalance_ratio: severe,
            ..Greedy::default()
        },
    );
    (any_mode(), 1.0..3.0f64, greedy, any_adaptive()).prop_map(
        |(mode, max_deviation, greedy, adaptive)| Policy {
            mode,
            naive: Naive { max_deviation },
            greedy,
            adaptive,
        },
    )
}

pub(crate) fn any_adaptive() -> impl Strategy<Value = Adaptive> {
    let tolerances = (0.0..0.1f64, 0.0..1.0f64);
    (0..120u64, 0.0..0.5f64, tolerances, 0..60u64).prop_map(
        |(cooldown, budget, (least, beyond), delay)| Adaptive {
            per_shard_cooldown: Duration::from_secs(cooldown),
            move_budget_proportion: budget,
            min_tolerance: least,
            max_tolerance: (least + beyond).min(1.0),
            newcomer_delay: Duration::from_secs(delay),
            ..Adaptive::default()
        },
    )
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        1 => Just(Mode::Ring),
        1 => Just(Mode::Naive),
        1 => Just(Mode::Greedy),
        2 => Just(Mode::Adaptive),
    ]
}

pub(crate) fn any_scope() -> impl Strategy<Value = Scope> {
    prop_oneof![Just(Scope::Forced), Just(Scope::Full), Just(Scope::Frozen)]
}

fn any_candidacy() -> impl Strategy<Value = Candidacy> {
    prop_oneof![
        6 => Just(Candidacy::Open),
        1 => Just(Candidacy::Drained),
        1 => Just(Candidacy::Leaving),
        1 => Just(Candidacy::Silent),
    ]
}

fn executors(kinds: &[(Candidacy, f64, Option<Time>)]) -> Vec<ExecutorView> {
    let executor = |(number, &(candidacy, capacity, opened_at)): (usize, &_)| {
        let executor = ExecutorView::new(format!("executor-{number}"), candidacy);
        ExecutorView { capacity, opened_at, ..executor }
    };
    kinds.iter().enumerate().map(executor).collect()
}

fn any_executor() -> impl Strategy<Value = (Candidacy, f64, Option<Time>)> {
    let capacity =
        prop_oneof![3 => Just(1.0), 1 => prop_oneof![Just(2.0), Just(0.5), 0.1..10.0f64]];
    (any_candidacy(), capacity, option::weighted(0.3, any_time_ago()))
}

pub(crate) fn any_executor_view() -> impl Strategy<Value = ExecutorView> {
    any_executor().prop_map(|kind| executors(&[kind])[0].clone())
}

fn any_time_ago() -> impl Strategy<Value = Time> {
    (0..200u64).prop_map(|ago| Time::from_millis(1_000_000 - ago * 1000))
}

pub(crate) fn any_shard(executors: usize) -> impl Strategy<Value = ShardView> {
    let owner = option::weighted(0.9, 0..executors.max(1) as u32)
        .prop_map(move |owner| owner.filter(|_| executors > 0).map(ExecutorIndex));
    let moved_at = option::of(any_time_ago());
    let cost = prop_oneof![4 => Just(1.0), 1 => 0.1..10.0f64];
    let load = option::weighted(0.8, any_load());
    (owner, load, moved_at, prop::bool::weighted(0.1), cost).prop_map(
        |(owner, load, moved_at, fixed, cost)| ShardView {
            owner,
            load,
            moved_at,
            fixed,
            cost,
            ..ShardView::new(0)
        },
    )
}

/// Mostly common numbers, so that ties occur; sometimes extreme ones.
pub(crate) fn any_load() -> impl Strategy<Value = Load> {
    let figure = || {
        prop_oneof![
            3 => (0..10u32).prop_map(f64::from),
            3 => 0.0..100.0f64,
            1 => prop_oneof![Just(0.0), Just(0.1), Just(1e-300), Just(1e12), Just(1e100)],
        ]
    };
    let noise = prop_oneof![2 => Just(0.0), 1 => 0.0..0.5f64];
    (figure(), figure(), noise).prop_map(|(smoothed, reported, noise)| {
        let variance = (noise * smoothed).powi(2);
        Load { smoothed, reported, variance }
    })
}

/// Every shard with the hash of its number as a key.
fn numbered(mut shards: Vec<ShardView>) -> Vec<ShardView> {
    for (key, shard) in shards.iter_mut().enumerate() {
        shard.key_hash = key_hash(&key.to_string());
    }
    shards
}
