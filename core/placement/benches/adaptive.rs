//! A full adaptive plan from a skewed start, with a budget that is never spent:
//! log-normal loads where consistent hashing put them, to within a point of the
//! best there is. And a cycle in which little has changed.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

use plimsoll_placement::plan;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::{Adaptive, Mode, Policy};
use plimsoll_placement::snapshot::generate::{GenerateError, Size, generate};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::View;

/// Shards and hosts.
const SIZES: [(usize, usize); 3] = [(10_000, 100), (75_000, 1000), (1_000_000, 10_000)];

fn skewed(shards: usize, hosts: usize) -> Result<View, GenerateError> {
    let size = Size { shards: Some(shards), hosts: Some(hosts) };
    Ok(generate("lognormal-1", 1, size)?.view())
}

fn full_plan(c: &mut Criterion) {
    let adaptive = Adaptive { move_budget_proportion: 1.0, ..Adaptive::default() };
    let policy = Policy { mode: Mode::Adaptive, adaptive, ..Policy::default() };
    let now = Time::from_millis(1_000_000);
    let mut group = c.benchmark_group("adaptive full plan");
    group.sample_size(10);
    for (shards, hosts) in SIZES {
        let id = BenchmarkId::from_parameter(format!("{shards} shards, {hosts} hosts"));
        let Ok(view) = skewed(shards, hosts) else { continue };
        let first = plan(now, &view, &policy, Scope::Full);
        println!(
            "{shards} shards, {hosts} hosts: {} moves, spread {:.2} points, best possible {:.2}",
            first.moves.len(),
            first.report.after.spread * 100.0,
            first.report.bound.spread * 100.0
        );
        group.bench_with_input(id, &view, |b, view| {
            b.iter(|| plan(black_box(now), view, &policy, Scope::Full));
        });
    }
    group.finish();
}

/// A cycle at rest after one of a hundred loads has changed by up to a tenth.
fn next_cycle(c: &mut Criterion) {
    let adaptive = Adaptive { move_budget_proportion: 1.0, ..Adaptive::default() };
    let policy = Policy { mode: Mode::Adaptive, adaptive, ..Policy::default() };
    let now = Time::from_millis(1_000_000);
    let Ok(mut view) = skewed(75_000, 1000) else { return };
    for step in plan(now, &view, &policy, Scope::Full).moves {
        view.shards[step.shard.0 as usize].owner = Some(step.to);
    }
    for load in view.shards.iter_mut().step_by(100).filter_map(|shard| shard.load.as_mut()) {
        load.smoothed *= 0.9 + 0.2 * (load.smoothed * 1000.0).fract();
    }
    let moves = plan(now, &view, &policy, Scope::Full).moves.len();
    println!("75000 shards, 1000 hosts, 750 loads changed: {moves} moves");
    c.bench_function("adaptive cycle with 1 % of 75000 loads changed", |b| {
        b.iter(|| plan(black_box(now), &view, &policy, Scope::Full));
    });
}

criterion_group!(benches, full_plan, next_cycle);
criterion_main!(benches);
