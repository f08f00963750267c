//! A full greedy plan from a skewed start: log-normal loads where consistent
//! hashing put them.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

use plimsoll_placement::plan;
use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::Policy;
use plimsoll_placement::snapshot::generate::{GenerateError, Size, generate};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::View;

/// Shards and hosts.
const SIZES: [(usize, usize); 3] = [(1000, 20), (16_000, 400), (100_000, 1000)];

fn skewed(shards: usize, hosts: usize) -> Result<View, GenerateError> {
    let size = Size { shards: Some(shards), hosts: Some(hosts) };
    Ok(generate("lognormal-1.5", 1, size)?.view())
}

fn full_plan(c: &mut Criterion) {
    let policy = Policy::default();
    let mut group = c.benchmark_group("greedy full plan");
    for (shards, hosts) in SIZES {
        let id = BenchmarkId::from_parameter(format!("{shards} shards, {hosts} hosts"));
        let Ok(view) = skewed(shards, hosts) else { continue };
        let now = Time::from_millis(1_000_000);
        let moves = plan(now, &view, &policy, Scope::Full).moves.len();
        println!("{shards} shards, {hosts} hosts: {moves} moves a plan");
        group.bench_with_input(id, &view, |b, view| {
            b.iter(|| plan(black_box(now), view, &policy, Scope::Full));
        });
    }
    group.finish();
}

criterion_group!(benches, full_plan);
criterion_main!(benches);
