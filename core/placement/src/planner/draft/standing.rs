//! How hosts stand after the moves so far, brought up to date when somebody asks.

use crate::measures::{Balance, ExactSum};
use crate::placer::Tally;
use crate::sparse::Sparse;
use crate::standing::{Host, Standing};
use crate::view::ExecutorIndex;

use super::super::adaptive::Slots;
use super::Draft;

/// One host in so many, as many as may have been touched for the standing to be put
/// back host by host.
const FEW: usize = 4;

/// What trying things out takes from a draft, to be given back.
#[derive(Debug)]
pub(in super::super) struct Lent {
    pub(in super::super) standing: Standing,
    pub(in super::super) tried: Sparse<Host>,
    pub(in super::super) shelves: Slots,
}

impl Draft<'_> {
    pub(in super::super) fn balance(&mut self) -> Balance {
        let measured = self.measured.part;
        self.standing().balance(measured)
    }

    /// How many shards open executors have.
    pub(in super::super) fn assigned(&mut self) -> usize {
        self.standing().shards()
    }

    /// What open executors can carry together.
    pub(in super::super) fn total_capacity(&mut self) -> f64 {
        self.standing().capacity()
    }

    /// Open executors, by rank, that have only just come; none if all have.
    pub(in super::super) fn newcomers(&self) -> Vec<u32> {
        self.ledger.newcomers(self.now)
    }

    /// Until it is given back, nothing may be asked that it answers.
    pub(in super::super) fn lend(&mut self) -> Lent {
        self.standing();
        let (tried, shelves) = (&mut self.desk.tried, &mut self.desk.shelves);
        Lent {
            standing: std::mem::take(&mut self.standing),
            tried: std::mem::take(tried),
            shelves: std::mem::take(shelves),
        }
    }

    pub(in super::super) fn take_back(&mut self, lent: Lent) {
        self.standing = lent.standing;
        (self.desk.tried, self.desk.shelves) = (lent.tried, lent.shelves);
    }

    /// Up to date.
    pub(super) fn standing(&mut self) -> &Standing {
        let stale = std::mem::take(&mut self.stale);
        for &executor in &stale {
            let touched = self.desk.touched.get_mut(executor.0);
            touched.into_iter().for_each(|touched| touched.is_stale = false);
        }
        let ranked = stale.into_iter().filter_map(|it| Some((self.rank(it)?, self.host(it))));
        let hosts: Vec<(u32, Host)> = ranked.collect();
        self.standing.set_all(hosts.into_iter());
        &self.standing
    }

    /// As it was before the first move; `None` if it is better made anew.
    pub(super) fn restored_standing(&mut self) -> Option<Standing> {
        let (ledger, mut standing) = (self.ledger, std::mem::take(&mut self.standing));
        let are_few = self.desk.touched.len() * FEW <= self.open().len();
        let before = self.desk.touched.drain().filter_map(|(index, _)| {
            let executor = ExecutorIndex(index);
            Some((ledger.rank(executor)?, ledger.host(executor)))
        });
        let before: Vec<(u32, Host)> = before.collect();
        are_few.then(|| {
            standing.set_all(before.into_iter());
            standing
        })
    }

    /// The figures of an executor now.
    fn host(&self, executor: ExecutorIndex) -> Host {
        let (mut variance, mut largest) = (ExactSum::default(), 0.0_f64);
        for shard in self.shards_of(executor) {
            variance.add(self.ledger.variance(shard));
            largest = largest.max(self.weight_of(shard));
        }
        let Tally { load, shards } = self.tally(executor);
        let capacity = self.capacity(executor);
        let variance = variance.value();
        Host { capacity, load, shards, variance, largest, largest_variance: 0.0 }
    }
}
