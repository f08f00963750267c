//! The placer against a look at every executor.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use plimsoll_placement::placer::{Candidate, Placer, Tally};
use plimsoll_placement::policy::Mode;
use plimsoll_placement::view::ExecutorIndex;

proptest! {
    #[test]
    fn each_shard_goes_to_the_least_of_all(
        tallies in vec((0..20u32, 0..5usize), 1..12),
        loads in vec(option::of(0..10u32), 0..60),
    ) {
        let mut candidates: Vec<Candidate> = tallies.iter().enumerate().map(candidate).collect();
        let mut placer = Placer::new(Mode::Greedy, candidates.clone(), 3.0);
        for load in loads {
            let load = load.map(f64::from);
            let least = least(&mut candidates);
            prop_assert_eq!(placer.place(0, load), Some(least.index));
            least.tally.load += load.unwrap_or(3.0);
            least.tally.shards += 1;
        }
    }
}

fn candidate((number, &(load, shards)): (usize, &(u32, usize))) -> Candidate {
    Candidate {
        index: ExecutorIndex(number as u32),
        id: format!("executor-{number}").into(),
        tally: Tally { load: f64::from(load), shards },
        capacity: 1.0,
    }
}

fn least(candidates: &mut [Candidate]) -> &mut Candidate {
    let order = |a: &&mut Candidate, b: &&mut Candidate| {
        let by_load = a.tally.load.total_cmp(&b.tally.load);
        by_load.then(a.tally.shards.cmp(&b.tally.shards)).then_with(|| a.id.cmp(&b.id))
    };
    candidates.iter_mut().min_by(order).unwrap()
}
