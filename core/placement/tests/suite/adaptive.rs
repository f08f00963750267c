//! The adaptive planner on real and generated loads: how near to the bound it
//! comes to rest, and what it moves for that. Each test prints its figures:
//! `cargo test -p plimsoll-placement adaptive -- --nocapture`.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_placement::plan;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::{Adaptive, Mode, Policy};
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::snapshot::generate::{Size, generate, names};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, Load, View};

use super::rest::{apply, run_to_rest};
use super::snapshots::{greedy, shared_snapshots};

const NOW: Time = Time::from_millis(1_000_000);

/// The best that a minute of local search finds for few-coarse, in points
/// (`lab balance snapshots --only few-coarse --solver`); it does not prove that
/// there is none better.
const BEST_FOR_FEW_COARSE: f64 = 12.315;

pub(crate) fn adaptive() -> Policy {
    Policy { mode: Mode::Adaptive, ..Policy::default() }
}

/// As many moves a cycle as there are shards.
fn unlimited() -> Policy {
    let adaptive = Adaptive { move_budget_proportion: 1.0, ..Adaptive::default() };
    Policy { adaptive, ..self::adaptive() }
}

/// What it took to come to rest, and where that is.
#[derive(Debug)]
struct Figures {
    /// In points.
    spread: f64,
    /// Above the bound, in points.
    gap: f64,
    over_least: f64,
}

fn rest(snapshot: &Snapshot) -> Figures {
    let start = snapshot.view();
    let rest = run_to_rest(start.clone(), &adaptive());
    let spread = rest.last.report.after.spread * 100.0;
    let Flows { moved, least, .. } = flows(&start, &rest.view);
    Figures {
        spread,
        gap: spread - snapshot.bound().spread * 100.0,
        over_least: if least > 0.0 { moved / least } else { 1.0 },
    }
}

struct Flows {
    /// The load of all shards that are elsewhere.
    moved: f64,
    /// What must be elsewhere for the same host loads.
    least: f64,
}

fn flows(start: &View, end: &View) -> Flows {
    let mut net: BTreeMap<Option<ExecutorIndex>, f64> = BTreeMap::new();
    let mut moved = 0.0;
    for (before, after) in start.shards.iter().zip(&end.shards) {
        let load = before.load.map_or(0.0, |load| load.smoothed);
        if before.owner != after.owner {
            moved += load;
            *net.entry(before.owner).or_default() -= load;
            *net.entry(after.owner).or_default() += load;
        }
    }
    Flows { moved, least: net.values().map(|net| net.max(0.0)).sum() }
}

fn host_loads(view: &View) -> Vec<f64> {
    let mut loads = vec![0.0; view.executors.len()];
    for shard in &view.shards {
        if let (Some(owner), Some(load)) = (shard.owner, shard.load) {
            loads[owner.0 as usize] += load.smoothed;
        }
    }
    loads
}

#[test]
fn every_snapshot_rests_within_a_point_of_what_is_possible() {
    for (name, snapshot, _) in shared_snapshots() {
        let figures = rest(&snapshot);
        println!("{name}: {figures:?}");
        if name == "few-coarse" {
            assert!(figures.spread < BEST_FOR_FEW_COARSE + 1.0, "{name}: {figures:?}");
        } else {
            assert!(figures.gap < 0.5, "{name}: {figures:?}");
        }
    }
}

#[test]
fn little_more_is_moved_than_the_result_demands() {
    for (name, snapshot, _) in shared_snapshots() {
        let figures = rest(&snapshot);
        let most = match name.as_str() {
            // Packing: shards of two thirds of a host must change places.
            "few-coarse" => 1.16,
            // Three hosts must give one of two shards that are each more than a
            // fair share, and whoever takes one must give away all it had.
            "zipf-1.1" => 1.11,
            _ => 1.02,
        };
        assert!(figures.over_least < most, "{name}: {figures:?}");
    }
}

#[test]
fn snapshots_of_other_seeds_and_shapes_are_no_worse() {
    let shapes =
        ["lognormal-0.5", "lognormal-1.5", "pareto-1.2", "pareto-2.5", "zipf-0.5", "zipf-1.0"];
    for seed in 1..3 {
        for name in names().into_iter().chain(shapes).filter(|&name| name != "few-coarse") {
            let figures = rest(&generate(name, seed, Size::default()).unwrap());
            println!("{name} {seed}: {figures:?}");
            assert!(figures.gap < 0.7, "{name} {seed}: {figures:?}");
        }
    }
}

#[test]
fn greedy_moves_more_load_to_get_where_it_stops() {
    for (name, snapshot, _) in shared_snapshots() {
        let start = snapshot.view();
        let greedy = run_to_rest(start.clone(), &greedy());
        // One-key-half is the same to a tenth of a point, for half of all load.
        let goal = greedy.last.report.after.spread + 0.001;
        let mut view = start.clone();
        for step in plan(NOW, &start, &unlimited(), Scope::Full).moves {
            if spread_of(&view) <= goal {
                break;
            }
            view.shards[step.shard.0 as usize].owner = Some(step.to);
        }
        let [ours, theirs] = [&view, &greedy.view].map(|end| flows(&start, end).moved);
        println!(
            "{name}: {:.3} of greedy's moved load {}",
            ours / theirs,
            spread_of(&view) <= goal
        );
    }
}

fn spread_of(view: &View) -> f64 {
    let policy = adaptive();
    plan(NOW, view, &policy, Scope::Forced).report.before.spread
}

/// The snapshot at rest, in figures of a view that is as good as can be.
fn at_rest(snapshot: &Snapshot) -> View {
    run_to_rest(snapshot.view(), &adaptive()).view
}

/// Snapshots where no shard is larger than a fair share.
fn fine_snapshots() -> impl Iterator<Item = (String, Snapshot)> {
    let shared = shared_snapshots().into_iter().map(|(name, snapshot, _)| (name, snapshot));
    shared.filter(|(_, snapshot)| snapshot.bound().max_over_mean < 1.001)
}

#[test]
fn a_drained_host_leaves_the_others_even_with_hardly_an_unforced_move() {
    for (name, snapshot) in fine_snapshots() {
        let mut view = at_rest(&snapshot);
        let loads = host_loads(&view);
        let hottest = (0..loads.len()).max_by(|&a, &b| loads[a].total_cmp(&loads[b])).unwrap();
        view.executors[hottest].candidacy = Candidacy::Drained;
        let start = view.clone();
        let rest = run_to_rest(view, &adaptive());
        let forced = ExecutorIndex(hottest as u32);
        let unforced: f64 = start
            .shards
            .iter()
            .zip(&rest.view.shards)
            .filter(|(before, after)| before.owner != after.owner && before.owner != Some(forced))
            .map(|(before, _)| before.load.unwrap().smoothed)
            .sum();
        let (unforced, max) =
            (unforced / loads.iter().sum::<f64>(), rest.last.report.after.max_over_mean());
        println!("{name}: survivors within {max:.4}, unforced {:.2} %", unforced * 100.0);
        // Its shards are all about as large as what is left to even out.
        let most = if name == "scarab-recommendations" { 1.021 } else { 1.02 };
        assert!(max <= most && unforced <= 0.0145, "{name}: {max} with {unforced}");
    }
}

#[test]
fn a_new_host_is_given_its_share_and_others_hardly_anything() {
    // In few-coarse two shards are more than a host should have, and the one that
    // brings a new host nearest to its share takes others with it.
    for (name, snapshot, _) in
        shared_snapshots().into_iter().filter(|(name, ..)| name != "few-coarse")
    {
        let mut view = at_rest(&snapshot);
        let newcomer = ExecutorIndex(view.executors.len() as u32);
        view.executors.push(ExecutorView::new("newcomer", Candidacy::Open));
        let start = view.clone();
        let rest = run_to_rest(view, &adaptive());
        let share = rest.last.report.bound.level;
        let moved = flows(&start, &rest.view).moved / share;
        let filled = host_loads(&rest.view)[newcomer.0 as usize] / share;
        println!("{name}: filled to {filled:.4}, moved {moved:.4} of its share");
        assert!((0.98..=1.02).contains(&filled), "{name}: {filled}");
        assert!(moved <= 1.05, "{name}: {moved}");
    }
}

/// Shards that are each more than a fair share, `large` of them as large as each
/// other if `alike`, all on the first host.
fn giants_together(large: usize, alike: bool, seed: u64) -> View {
    let hosts = 6 + seed as usize % 3;
    let size = Size { shards: Some(128), hosts: Some(hosts) };
    let mut view = generate("lognormal-0.5", seed, size).unwrap().view();
    let total: f64 = host_loads(&view).iter().sum();
    for (place, shard) in view.shards.iter_mut().step_by(128 / large).take(large).enumerate() {
        let more = if alike { 0.0 } else { 0.1 * place as f64 };
        shard.load = Some(Load::exactly(total * (0.5 + more)));
        shard.owner = Some(ExecutorIndex(0));
    }
    view
}

#[test]
fn shards_above_a_fair_share_never_stay_together() {
    for seed in 0..12 {
        for (large, alike) in [(1, true), (2, true), (2, false), (3, true), (3, false)] {
            let rest = run_to_rest(giants_together(large, alike, seed), &adaptive());
            let (after, bound) = (rest.last.report.after, rest.last.report.bound);
            assert!(
                after.max_over_mean() < bound.max_over_mean * 1.01
                    && after.spread < bound.spread + 0.01,
                "seed {seed}, {large} large, alike: {alike}: {after:?} over {bound:?}"
            );
        }
    }
}

/// Two new hosts, one of which is still waited for: what the other is given may
/// not have to leave it again.
#[test]
fn nothing_is_moved_twice_for_new_hosts_that_come_one_after_the_other() {
    for seed in 1..6 {
        let mut view = at_rest(&generate("lognormal-0.7", seed, Size::default()).unwrap());
        view.executors.push(ExecutorView::new("first", Candidacy::Open));
        let second = ExecutorView::new("second", Candidacy::Open);
        view.executors.push(ExecutorView { opened_at: Some(NOW), ..second });
        let start = view.clone();
        let (mut moved, mut now) = (0.0, NOW);
        for _ in 0..30 {
            now += Duration::from_secs(1);
            let step = plan(now, &view, &adaptive(), Scope::Full);
            moved += step.moves.iter().map(|step| step.load).sum::<f64>();
            apply(&mut view, &step, now);
        }
        let Flows { least, .. } = flows(&start, &view);
        assert!(moved <= 1.02 * least, "seed {seed}: moved {moved}, least {least}");
        assert!(spread_of(&view) < 0.01, "seed {seed}: {}", spread_of(&view));
    }
}

#[test]
fn a_new_host_is_filled_in_one_cycle_once_it_has_settled() {
    let snapshot = generate("lognormal-1", 1, Size::default()).unwrap();
    let mut view = at_rest(&snapshot);
    let newcomer = ExecutorView::new("newcomer", Candidacy::Open);
    view.executors.push(ExecutorView { opened_at: Some(NOW), ..newcomer });
    assert_eq!(plan(NOW, &view, &adaptive(), Scope::Full).moves, []);
    let settled = NOW + adaptive().adaptive.newcomer_delay;
    let filling = plan(settled, &view, &adaptive(), Scope::Full);
    apply(&mut view, &filling, settled);
    let (filled, mean) = (*host_loads(&view).last().unwrap(), filling.report.after.mean);
    assert!((0.98..=1.02).contains(&(filled / mean)), "{filled} of {mean}");
}

#[test]
fn hosts_of_two_sizes_carry_by_their_size() {
    for seed in 1..6 {
        let mut view = generate("lognormal-1", seed, Size::default()).unwrap().view();
        for large in view.executors.iter_mut().step_by(3) {
            large.capacity = 4.0;
        }
        let rest = run_to_rest(view, &adaptive());
        let after = rest.last.report.after;
        println!("{seed}: {after:?}");
        assert!(after.spread < 0.005 && after.max_over_mean() < 1.01, "{seed}: {after:?}");
    }
}

#[test]
fn of_shards_that_help_as_much_the_cheapest_moves() {
    let mut view = generate("lognormal-0.01", 1, Size::default()).unwrap().view();
    for (place, shard) in view.shards.iter_mut().enumerate() {
        shard.cost = if place % 2 == 0 { 10.0 } else { 1.0 };
    }
    let moves = plan(NOW, &view, &unlimited(), Scope::Full).moves;
    let dear = moves.iter().filter(|step| step.shard.0 % 2 == 0).count();
    assert!(moves.len() > 20 && dear * 5 < moves.len(), "{dear} dear of {}", moves.len());
}

#[test]
fn noise_is_left_alone_and_quiet_loads_are_not() {
    let mut view = generate("lognormal-1", 1, Size::default()).unwrap().view();
    let quiet = plan(NOW, &view, &unlimited(), Scope::Full);
    assert!(quiet.moves.len() > 10);
    for load in view.shards.iter_mut().filter_map(|shard| shard.load.as_mut()) {
        load.variance = (load.smoothed * 0.5).powi(2);
    }
    let noisy = plan(NOW, &view, &unlimited(), Scope::Full);
    assert!(noisy.moves.len() * 2 < quiet.moves.len(), "{}", noisy.moves.len());
}
