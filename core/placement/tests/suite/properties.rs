//! What holds for every view and every policy.

use std::collections::BTreeMap;

use proptest::prelude::*;

use plimsoll_placement::check::check;
use plimsoll_placement::measures::Balance;
use plimsoll_placement::plan;
use plimsoll_placement::plan::{MoveReason, Plan, Scope, StopReason};
use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::view::{ExecutorIndex, ShardView, View};

use super::rest::{apply, run_to_rest};
use super::views::{NOW, any_adaptive, any_policy, any_scope, any_view};

proptest! {
    #[test]
    fn every_plan_is_sound(view in any_view(), policy in any_policy(), scope in any_scope()) {
        let plan = plan(NOW, &view, &policy, scope);
        prop_assert_eq!(check(NOW, &view, &policy, &plan), []);
    }

    #[test]
    fn whoever_can_be_placed_is(view in any_view(), policy in any_policy(), scope in any_scope()) {
        let mut after = view.clone();
        let plan = plan(NOW, &view, &policy, scope);
        apply(&mut after, &plan, NOW);
        let waiting = after.shards.iter().filter(|shard| must_move(&after, shard)).count();
        prop_assert_eq!(waiting, plan.report.unplaced);
        prop_assert!(waiting == 0 || !anyone_open(&view));
    }

    #[test]
    fn only_a_full_cycle_moves_what_need_not_move(view in any_view(), policy in any_policy()) {
        for scope in [Scope::Forced, Scope::Frozen] {
            let forced = |step: &plimsoll_placement::plan::Move| {
                let must = [MoveReason::Unowned, MoveReason::HostDrained, MoveReason::ExecutorLeaving];
                must.contains(&step.reason)
            };
            prop_assert!(plan(NOW, &view, &policy, scope).moves.iter().all(forced));
        }
    }

    #[test]
    fn every_figure_is_a_number(view in any_view(), policy in any_policy(), scope in any_scope()) {
        let Plan { moves, report } = plan(NOW, &view, &policy, scope);
        prop_assert!(moves.iter().all(|step| step.load.is_finite()));
        prop_assert!(report.held.iter().all(|host| host.load.is_finite()));
        for balance in [report.before, report.after] {
            let Balance { mean, max, min, spread, measured, hosts: _ } = balance;
            let figures = [mean, max, min, spread, measured, balance.max_over_mean()];
            prop_assert!(figures.iter().all(|figure| figure.is_finite()), "{:?}", balance);
        }
    }

    #[test]
    fn the_report_measures_what_the_moves_bring(view in any_view(), policy in any_policy()) {
        let first = plan(NOW, &view, &policy, Scope::Full);
        let mut after = view;
        apply(&mut after, &first, NOW);
        let second = plan(NOW, &after, &policy, Scope::Forced);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-280);
        let (promised, found) = (first.report.after, second.report.before);
        prop_assert!(close(promised.mean, found.mean), "{:?} {:?}", promised, found);
        prop_assert!(close(promised.max, found.max), "{:?} {:?}", promised, found);
    }

    #[test]
    fn the_order_of_the_lists_changes_nothing(
        (view, shuffled) in any_view().prop_flat_map(with_shuffle),
        policy in any_policy(),
        scope in any_scope(),
    ) {
        let plans = [&view, &shuffled].map(|view| plan(NOW, view, &policy, scope));
        let [one, other] = [by_name(&view, &plans[0]), by_name(&shuffled, &plans[1])];
        prop_assert_eq!(one, other);
    }
}

proptest! {
    // Each case is some hundred cycles.
    #![proptest_config(ProptestConfig { max_shrink_iters: 1000, ..ProptestConfig::default() })]

    #[test]
    fn what_has_come_to_rest_stays(view in any_view(), policy in any_policy()) {
        let rest = run_to_rest(view, &policy);
        prop_assert!(rest.last.moves.is_empty());
        let later = rest.now + policy.per_shard_cooldown();
        prop_assert!(plan(later, &rest.view, &policy, Scope::Full).moves.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn adaptive_finds_nothing_to_do_in_what_it_has_done(
        view in any_view(),
        adaptive in any_adaptive(),
    ) {
        let policy = Policy { mode: Mode::Adaptive, adaptive, ..Policy::default() };
        let first = plan(NOW, &view, &policy, Scope::Full);
        let mut after = view;
        apply(&mut after, &first, NOW);
        if first.report.stopped != Some(StopReason::Budget) {
            prop_assert_eq!(plan(NOW, &after, &policy, Scope::Full).moves, []);
        }
    }

    #[test]
    fn adaptive_never_makes_things_less_even(view in any_view(), adaptive in any_adaptive()) {
        let policy = Policy { mode: Mode::Adaptive, adaptive, ..Policy::default() };
        let [forced, full] = [Scope::Forced, Scope::Full].map(|scope| {
            plan(NOW, &view, &policy, scope).report.after.spread
        });
        prop_assert!(full <= forced + 1e-9, "{} and not {}", full, forced);
    }

    #[test]
    fn no_placement_is_below_the_bound(view in any_view(), adaptive in any_adaptive()) {
        let policy = Policy { mode: Mode::Adaptive, adaptive, ..Policy::default() };
        let report = plan(NOW, &view, &policy, Scope::Full).report;
        prop_assert!(report.after.spread >= report.bound.spread - 1e-6, "{:?}", report);
    }
}

fn must_move(view: &View, shard: &ShardView) -> bool {
    let candidacy = |owner: ExecutorIndex| view.executors[owner.0 as usize].candidacy;
    !shard.fixed && shard.owner.is_none_or(|owner| candidacy(owner).must_empty())
}

fn anyone_open(view: &View) -> bool {
    view.executors.iter().any(|executor| executor.candidacy.is_open())
}

/// The view, and the same with executors and shards listed in another order.
fn with_shuffle(view: View) -> impl Strategy<Value = (View, View)> {
    let places: Vec<usize> = (0..view.executors.len()).collect();
    (Just(places).prop_shuffle(), Just(view.shards.clone()).prop_shuffle()).prop_map(
        move |(places, mut shards)| {
            let executors = places.iter().map(|&old| view.executors[old].clone()).collect();
            let new_place: BTreeMap<usize, u32> = places.iter().copied().zip(0..).collect();
            for shard in &mut shards {
                shard.owner = shard.owner.map(|old| ExecutorIndex(new_place[&(old.0 as usize)]));
            }
            (view.clone(), View { executors, shards })
        },
    )
}

/// A plan in names, and in an order of its own.
fn by_name(view: &View, plan: &Plan) -> (Vec<String>, Vec<String>, String) {
    let id = |executor: ExecutorIndex| &*view.executors[executor.0 as usize].id;
    let mut moves: Vec<String> = plan
        .moves
        .iter()
        .map(|step| {
            let key = view.shards[step.shard.0 as usize].key_hash;
            format!("{key:x} {:?} {} {} {}", step.from.map(id), id(step.to), step.load, step.reason)
        })
        .collect();
    moves.sort_unstable();
    let report = &plan.report;
    let held = report.held.iter();
    let held = held.map(|held| format!("{} {} {}", id(held.executor), held.load, held.reason));
    let held = held.collect();
    let rest =
        format!("{:?} {:?} {} {:?}", report.before, report.after, report.unplaced, report.stopped);
    (moves, held, rest)
}

#[test]
fn the_default_policy_is_a_legal_one() {
    let Policy { greedy, naive, .. } = Policy::default();
    assert!(greedy.hysteresis_lower_band <= 1.0 && greedy.hysteresis_upper_band >= 1.0);
    assert!(naive.max_deviation >= 1.0);
}
