//! A full adaptive plan from a skewed start, with a budget that is never spent:
//! log-normal loads where consistent hashing put them, to within a point of the
//! best there is. And a cycle in which little has changed.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

use plimsoll_placement::Ledger;
use plimsoll_placement::plan;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::{Adaptive, Mode, Policy};
use plimsoll_placement::snapshot::generate::{GenerateError, Size, generate};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Load, ShardIndex, View};

const NOW: Time = Time::from_millis(1_000_000);

/// Shards and hosts.
const SIZES: [(usize, usize); 3] = [(10_000, 100), (75_000, 1000), (1_000_000, 10_000)];

fn skewed(shards: usize, hosts: usize) -> Result<View, GenerateError> {
    let size = Size { shards: Some(shards), hosts: Some(hosts) };
    Ok(generate("lognormal-1", 1, size)?.view())
}

fn full_plan(c: &mut Criterion) {
    let adaptive = Adaptive { move_budget_proportion: 1.0, ..Adaptive::default() };
    let policy = Policy { mode: Mode::Adaptive, adaptive, ..Policy::default() };
    let now = NOW;
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

/// A cycle of a ledger that is kept, at rest: after nothing, ten loads, and one of a
/// hundred have changed by up to a tenth. Telling the ledger is part of it. Ten
/// loads cost much the same on a thousand hosts and on ten thousand.
fn next_cycle(c: &mut Criterion) {
    let mut group = c.benchmark_group("adaptive next cycle");
    group.sample_size(20);
    for (shards, hosts) in [(75_000, 1000), (1_000_000, 10_000)] {
        let Some((ledger, loads)) = at_rest(shards, hosts) else { continue };
        for changed in [0, 10, shards / 100] {
            let name = format!("{shards} shards, {hosts} hosts, {changed} loads changed");
            let (mut ledger, mut round) = (ledger.clone(), 0);
            group.bench_function(BenchmarkId::from_parameter(name), |b| {
                b.iter(|| {
                    round += 1;
                    change(&mut ledger, &loads, changed, round);
                    ledger.plan(black_box(NOW), Scope::Full)
                });
            });
        }
    }
    group.finish();
}

/// A ledger whose moves have all been carried out, and the loads in it.
fn at_rest(shards: usize, hosts: usize) -> Option<(Ledger, Vec<f64>)> {
    let mut view = skewed(shards, hosts).ok()?;
    let unlimited = Adaptive { move_budget_proportion: 1.0, ..Adaptive::default() };
    let policy = Policy { adaptive: unlimited, ..Policy::default() };
    for step in plan(NOW, &view, &policy, Scope::Full).moves {
        view.shards[step.shard.0 as usize].owner = Some(step.to);
    }
    let loads = view.shards.iter().filter_map(|shard| Some(shard.load?.smoothed)).collect();
    Some((Ledger::of(&view, policy), loads))
}

/// Each of these differs from round to round, by up to a tenth of what it was at rest.
fn change(ledger: &mut Ledger, loads: &[f64], changed: usize, round: usize) {
    let Some(stride) = loads.len().checked_div(changed) else { return };
    for place in 0..changed {
        let off = ((place + round) % 10) as f64 / 45.0 - 0.1;
        let load = Load::exactly(loads[place * stride] * (1.0 + off));
        ledger.set_load(ShardIndex((place * stride) as u32), load);
    }
}

criterion_group!(benches, full_plan, next_cycle);
criterion_main!(benches);
