//! Small cases against the best of all placements, by trying every one.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use plimsoll_placement::measures::{Balance, lower_bound_over};
use plimsoll_placement::policy::{Adaptive, Policy};
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, Load, ShardView, View};

use super::adaptive::adaptive;
use super::rest::run_to_rest;

const HOSTS: usize = 3;
const SHARDS: usize = 8;

struct Case {
    loads: Vec<f64>,
    capacities: Vec<f64>,
}

impl Case {
    /// Of shards that are each a third of a host or so: packing at its hardest.
    fn of(seed: u64) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let capacity = |even: f64| if seed.is_multiple_of(2) { 1.0 } else { even };
        Self {
            loads: (0..SHARDS).map(|_| rng.random_range(0.05f64..2.0).powi(2)).collect(),
            capacities: (0..HOSTS).map(|_| capacity(rng.random_range(0.2..3.0))).collect(),
        }
    }

    fn spread(&self, owners: &[usize]) -> f64 {
        let mut hosts: Vec<(f64, f64)> = self.capacities.iter().map(|&c| (0.0, c)).collect();
        for (load, &owner) in self.loads.iter().zip(owners) {
            hosts[owner].0 += load;
        }
        Balance::per_capacity(&hosts, 1.0).spread
    }

    fn best(&self) -> f64 {
        let digit = |number: usize, place: u32| number / HOSTS.pow(place) % HOSTS;
        let owners = |number| -> Vec<usize> {
            (0..SHARDS as u32).map(|place| digit(number, place)).collect()
        };
        (0..HOSTS.pow(SHARDS as u32))
            .map(|number| self.spread(&owners(number)))
            .fold(f64::INFINITY, f64::min)
    }

    /// All shards on the first host.
    fn view(&self) -> View {
        let executor = |(number, &capacity): (usize, &f64)| ExecutorView {
            capacity,
            ..ExecutorView::new(format!("executor-{number}"), Candidacy::Open)
        };
        let shard = |(key, &load): (usize, &f64)| ShardView {
            owner: Some(ExecutorIndex(0)),
            load: Some(Load::exactly(load)),
            ..ShardView::new(key_hash(&key.to_string()))
        };
        View {
            executors: self.capacities.iter().enumerate().map(executor).collect(),
            shards: self.loads.iter().enumerate().map(shard).collect(),
        }
    }
}

#[test]
fn the_bound_is_never_above_the_best_of_all_placements() {
    for case in (0..200).map(Case::of) {
        let bound = lower_bound_over(case.loads.iter().copied(), &case.capacities).spread;
        assert!(bound <= case.best() + 1e-9, "{:?} on {:?}", case.loads, case.capacities);
    }
}

#[test]
fn a_few_coarse_shards_are_packed_nearly_as_well_as_can_be() {
    let unlimited = Adaptive { move_budget_proportion: 1.0, ..Adaptive::default() };
    let policy = Policy { adaptive: unlimited, ..adaptive() };
    let excess = |case: Case| {
        let rest = run_to_rest(case.view(), &policy);
        (rest.last.report.after.spread - case.best()) * 100.0
    };
    let mut excess: Vec<f64> = (0..200).map(Case::of).map(excess).collect();
    excess.sort_by(f64::total_cmp);
    println!("above the best, in points: half {:.1}, nine of ten {:.1}", excess[100], excess[180]);
    assert!(excess[0] >= -1e-7, "better than the best: {}", excess[0]);
    assert!(excess[100] < 3.0 && excess[180] < 15.0, "{} and {}", excess[100], excess[180]);
}
