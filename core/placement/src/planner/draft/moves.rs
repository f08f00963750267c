//! What a plan moves, one shard after the other, and what hosts carry then.

use std::num::NonZeroU32;

use crate::ledger::Count;
use crate::placer::Tally;
use crate::plan::{Move, MoveReason};
use crate::view::{ExecutorIndex, ShardIndex};

use super::Draft;

impl Draft<'_> {
    pub(in super::super) fn shift(
        &mut self,
        shard: ShardIndex,
        to: ExecutorIndex,
        reason: MoveReason,
    ) {
        let load = self.weight_of(shard);
        let from = self.relocate(shard, load, to);
        self.moves.push(Some(Move { shard, from, to, load, reason, gain: 0.0 }));
        self.moved[shard.0 as usize] =
            u32::try_from(self.moves.len()).ok().and_then(NonZeroU32::new);
    }

    /// Says who had it. What this plan does with it must be noted afterwards.
    fn relocate(
        &mut self,
        shard: ShardIndex,
        load: f64,
        to: ExecutorIndex,
    ) -> Option<ExecutorIndex> {
        let (from, known) = (self.owner(shard), self.ledger.owner(shard));
        if let Some(from) = from {
            self.tallies[from.0 as usize].lose(load);
            self.touched[from.0 as usize] = true;
            self.gained.remove(&(from, shard));
        }
        self.tallies[to.0 as usize].gain(load);
        self.touched[to.0 as usize] = true;
        if known != Some(to) {
            self.gained.insert((to, shard));
        }
        from
    }

    /// As [`Draft::shift`], also for a shard that this plan has moved before: the
    /// two become one move, or none if it is home again.
    pub(in super::super) fn carry(
        &mut self,
        shard: ShardIndex,
        to: ExecutorIndex,
        is_exchange: bool,
        gain: f64,
    ) {
        let reason = match is_exchange {
            _ if self.was_empty(to) => MoveReason::FillEmpty,
            true => MoveReason::Exchange,
            false => MoveReason::Balance,
        };
        let place = self.moved[shard.0 as usize].map(|place| place.get() as usize - 1);
        let Some((place, before)) = place.and_then(|place| Some((place, self.moves[place]?)))
        else {
            self.shift(shard, to, reason);
            if let Some(Some(step)) = self.moves.last_mut() {
                step.gain = gain;
            }
            return;
        };
        self.relocate(shard, before.load, to);
        if before.from == Some(to) {
            self.moves[place] = None;
            self.moved[shard.0 as usize] = None;
        } else if before.reason.is_forced() {
            self.moves[place] = Some(Move { to, ..before });
        } else {
            self.moves[place] = Some(Move { to, reason, gain: before.gain + gain, ..before });
        }
    }

    /// Counts anew what is where, as the next cycle will: sums that were kept move
    /// by move differ from that in the last bits.
    pub(in super::super) fn recount(&mut self) {
        let accounts = self.ledger.accounts();
        let mut counts: Vec<Option<Count>> = vec![None; accounts.len()];
        let mut of = |executor: ExecutorIndex, change: &dyn Fn(&mut Count)| {
            let place = executor.0 as usize;
            change(counts[place].get_or_insert_with(|| accounts[place].count().clone()));
        };
        for step in self.moves.iter().flatten() {
            let load = self.ledger.load(step.shard);
            if let Some(from) = step.from {
                of(from, &|count| count.take(load));
            }
            of(step.to, &|count| count.add(load));
        }
        // One that has everything again that it had is as it was.
        let mean = self.measured.mean;
        for place in (0..self.touched.len()).filter(|&place| self.touched[place]) {
            self.tallies[place] = match &counts[place] {
                Some(count) => count.tally(count.load(), mean),
                None => accounts[place].tally(mean),
            };
        }
    }
}

impl Tally {
    fn gain(&mut self, load: f64) {
        self.load += load;
        self.shards += 1;
    }

    fn lose(&mut self, load: f64) {
        self.shards -= 1;
        // Rounding must leave neither a shadow of load nor less than none.
        self.load = if self.shards == 0 { 0.0 } else { (self.load - load).max(0.0) };
    }
}
