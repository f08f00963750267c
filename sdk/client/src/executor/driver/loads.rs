//! What is measured, and told with the next beat.

use std::sync::Arc;

use plimsoll_ownership::holder::ShardPhase;

use super::Driver;
use crate::Shards;
use crate::executor::loads::{Measured, Weight};
use crate::executor::shared::Counters;

impl<S: Shards> Driver<S> {
    pub(super) fn measure(&mut self) {
        let running = self.shared.read(|holder, _| {
            let running = holder.shards().filter(|held| held.phase == ShardPhase::Running);
            running.map(|held| Arc::clone(held.shard)).collect()
        });
        if self.meter.is_late() {
            Counters::count(&self.shared.counters.loads_late);
        }
        if self.meter.ask(running) {
            tracing::warn!("the application's load does not return: no loads are told");
        }
    }

    pub(super) fn record(&mut self, measured: Measured) {
        for (shard, weight) in measured {
            // It may have stopped while it was measured.
            if !self.runs_on(&shard) {
                continue;
            }
            if !weight.is_valid() {
                Counters::count(&self.shared.counters.loads_refused);
            }
            if !self.book.record(Arc::clone(&shard), weight) {
                let (shard, Weight { load, move_cost }) = (&*shard, weight);
                tracing::warn!(
                    shard,
                    load,
                    move_cost,
                    "not told: a load is finite and not negative, a move cost finite and above 0"
                );
            }
        }
    }
}
