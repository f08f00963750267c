//! What `check` finds: each way to spoil a sound plan.

use plimsoll_placement::check::{Violation, check};
use plimsoll_placement::plan::{Move, MoveReason, Plan, Report, StopReason};
use plimsoll_placement::policy::Policy;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{
    Candidacy, ExecutorIndex, ExecutorView, Load, ShardIndex, ShardView, View,
};

const NOW: Time = Time::from_millis(1_000_000);
const OPEN: ExecutorIndex = ExecutorIndex(0);
const OTHER: ExecutorIndex = ExecutorIndex(1);
const DRAINED: ExecutorIndex = ExecutorIndex(2);

const ORPHAN: ShardIndex = ShardIndex(0);
const AT_HOME: ShardIndex = ShardIndex(1);
const IN_HANDOVER: ShardIndex = ShardIndex(2);
const JUST_MOVED: ShardIndex = ShardIndex(3);
const NOWHERE: ShardIndex = ShardIndex(9);

/// Two open executors and a drained one; one shard must be placed.
fn view() -> View {
    let executor = |id: &str, candidacy| ExecutorView::new(id, candidacy);
    let moved_at = Some(Time::from_millis(999_000));
    View {
        executors: vec![
            executor("a", Candidacy::Open),
            executor("b", Candidacy::Open),
            executor("c", Candidacy::Drained),
        ],
        shards: vec![
            ShardView { owner: None, ..shard("orphan") },
            shard("at-home"),
            ShardView { fixed: true, ..shard("in-handover") },
            ShardView { moved_at, ..shard("just-moved") },
        ],
    }
}

fn shard(key: &str) -> ShardView {
    let load = Some(Load::exactly(1.0));
    ShardView { owner: Some(OPEN), load, ..ShardView::new(key_hash(key)) }
}

fn placed() -> Move {
    Move { shard: ORPHAN, from: None, to: OPEN, load: 1.0, reason: MoveReason::Unowned, gain: 0.0 }
}

fn balanced(shard: ShardIndex) -> Move {
    Move { shard, from: Some(OPEN), to: OTHER, load: 1.0, reason: MoveReason::Balance, gain: 0.0 }
}

fn violations(moves: impl Into<Vec<Move>>) -> Vec<Violation> {
    let plan = Plan { moves: moves.into(), report: Report::default() };
    check(NOW, &view(), &Policy::default(), &plan)
}

#[test]
fn a_sound_plan_has_no_violation() {
    assert_eq!(violations([placed(), balanced(AT_HOME)]), []);
}

#[test]
fn a_shard_from_somewhere_else_is_found() {
    let step = Move { from: Some(OTHER), to: OPEN, ..balanced(AT_HOME) };
    let wrong = Violation::WrongSource { shard: AT_HOME, says: Some(OTHER), owner: Some(OPEN) };
    assert_eq!(violations([placed(), step]), [wrong]);
    let unknown = Violation::NoSuchShard { shard: NOWHERE };
    assert_eq!(violations([placed(), balanced(NOWHERE)]), [unknown]);
}

#[test]
fn a_target_that_is_not_open_is_found() {
    for to in [DRAINED, ExecutorIndex(9)] {
        let step = Move { to, ..placed() };
        assert_eq!(violations([step]), [Violation::ClosedTarget { shard: ORPHAN, to }]);
    }
}

#[test]
fn a_move_to_where_it_is_is_found() {
    let step = Move { to: OPEN, ..balanced(AT_HOME) };
    assert_eq!(violations([placed(), step]), [Violation::StaysWhereItIs { shard: AT_HOME }]);
}

#[test]
fn a_shard_in_handover_or_cooldown_is_found() {
    let in_handover = Violation::InHandover { shard: IN_HANDOVER };
    assert_eq!(violations([placed(), balanced(IN_HANDOVER)]), [in_handover]);
    let in_cooldown = Violation::InCooldown { shard: JUST_MOVED };
    assert_eq!(violations([placed(), balanced(JUST_MOVED)]), [in_cooldown]);
}

#[test]
fn a_reason_that_does_not_hold_is_found() {
    let reason = MoveReason::HostDrained;
    let step = Move { reason, ..balanced(AT_HOME) };
    assert_eq!(violations([placed(), step]), [Violation::WrongReason { shard: AT_HOME, reason }]);
}

#[test]
fn a_load_that_is_none_is_found() {
    let step = Move { load: f64::INFINITY, ..placed() };
    let bad = Violation::BadLoad { shard: ORPHAN, load: f64::INFINITY };
    assert_eq!(violations([step]), [bad]);
}

#[test]
fn a_shard_moved_twice_is_found_and_counts_twice() {
    let step = balanced(AT_HOME);
    let twice = Violation::MovedTwice { shard: AT_HOME };
    let over = Violation::OverBudget { moves: 2, budget: 1 };
    assert_eq!(violations([placed(), step, step]), [twice, over]);
}

#[test]
fn forced_work_that_was_left_is_found() {
    assert_eq!(violations([]), [Violation::Forgotten { shard: ORPHAN }]);
}

#[test]
fn a_wrong_count_of_what_cannot_be_placed_is_found() {
    let mut view = view();
    view.executors.truncate(0);
    view.shards.truncate(1);
    let plan = Plan { moves: Vec::new(), report: Report::default() };
    let found = check(NOW, &view, &Policy::default(), &plan);
    assert_eq!(found, [Violation::Miscounted { unplaced: 1, says: 0 }]);
}

#[test]
fn a_move_for_balance_while_frozen_is_found() {
    let report = Report { stopped: Some(StopReason::Frozen), ..Report::default() };
    let plan = Plan { moves: vec![placed(), balanced(AT_HOME)], report };
    let found = check(NOW, &view(), &Policy::default(), &plan);
    assert_eq!(found, [Violation::MovedWhileFrozen { shard: AT_HOME }]);
}

#[test]
fn a_violation_says_what_is_wrong_with_what() {
    let violation = Violation::ClosedTarget { shard: ORPHAN, to: DRAINED };
    assert_eq!(violation.to_string(), "shard 0 goes to executor 2, which is not open");
}
