//! What a plan moves, one shard after the other, and what hosts carry then.

use std::num::NonZeroU32;

use crate::placer::Tally;
use crate::plan::{Move, MoveReason};
use crate::view::{ExecutorIndex, ShardIndex};

use super::{Draft, Touched};

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
        self.desk.moved[shard.0 as usize] =
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
        let measured = self.ledger.load(shard);
        if let Some(from) = from {
            self.touch(from).lose(load, measured);
            self.gained.remove(&(from, shard));
        }
        self.touch(to).gain(load, measured);
        if known != Some(to) {
            self.gained.insert((to, shard));
        }
        from
    }

    /// For a change.
    pub(super) fn touch(&mut self, executor: ExecutorIndex) -> &mut Touched {
        let account = &self.ledger.accounts()[executor.0 as usize];
        let mean = self.measured.mean;
        let touched = self.desk.touched.get_or_insert_with(executor.0, || Touched {
            tally: account.tally(mean),
            count: account.count().clone(),
            is_stale: false,
        });
        if !std::mem::replace(&mut touched.is_stale, true) {
            self.stale.push(executor);
        }
        touched
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
        let place = self.desk.moved[shard.0 as usize].map(|place| place.get() as usize - 1);
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
            self.desk.moved[shard.0 as usize] = None;
        } else if before.reason.is_forced() {
            self.moves[place] = Some(Move { to, ..before });
        } else {
            self.moves[place] = Some(Move { to, reason, gain: before.gain + gain, ..before });
        }
    }

    /// Counts anew what is where, as the next cycle will: sums that were kept move
    /// by move differ from that in the last bits.
    pub(in super::super) fn recount(&mut self) {
        let mean = self.measured.mean;
        for (executor, touched) in self.desk.touched.iter_mut() {
            let before = std::mem::replace(
                &mut touched.tally,
                touched.count.tally(touched.count.load(), mean),
            );
            if before != touched.tally && !std::mem::replace(&mut touched.is_stale, true) {
                self.stale.push(ExecutorIndex(executor));
            }
        }
    }
}

impl Touched {
    /// `measured` is the same load, if anybody has measured it.
    fn gain(&mut self, load: f64, measured: Option<f64>) {
        self.count.add(measured);
        self.tally.load += load;
        self.tally.shards += 1;
    }

    fn lose(&mut self, load: f64, measured: Option<f64>) {
        self.count.take(measured);
        let Tally { load: before, shards } = self.tally;
        // Rounding must leave neither a shadow of load nor less than none.
        let left = if shards == 1 { 0.0 } else { (before - load).max(0.0) };
        self.tally = Tally { load: left, shards: shards - 1 };
    }
}
