//! Instances and preparations: how they begin and end.

use std::sync::Arc;

use plimsoll_ownership::holder::StopReason;
use plimsoll_ownership::message::{Preparation, State};
use tokio::sync::oneshot;

use super::{Driver, Running};
use crate::executor::instance::{self, Ending, Instance, Report};
use crate::executor::preparing;
use crate::{NextOwner, Shard, Shards};

impl<S: Shards> Driver<S> {
    pub(super) fn prepare(&mut self, preparation: Preparation) {
        tracing::debug!(shard = &*preparation.shard, "preparing");
        self.shared.doors.expect(&preparation.shard);
        let task = self.preparing.begin(preparation);
        let (shards, report) = (Arc::clone(&self.shards), self.report.clone());
        self.tasks.spawn(preparing::run(shards, task, report));
    }

    pub(super) fn abandon(&mut self, shard: &str) {
        self.preparing.abandon(shard);
        self.shared.doors.expect_no_more(shard);
    }

    pub(super) fn start(&mut self, shard: Shard) {
        tracing::debug!(shard = shard.key(), generation = shard.generation(), "starting");
        let (order, stop) = oneshot::channel();
        let door = self.shared.doors.expect(&shard.key);
        let running = Running { stop: Some(order), door: Arc::clone(&door) };
        self.instances.insert(Arc::clone(&shard.key), running);
        let instance = Instance {
            door,
            after: self.preparing.take(&shard.key),
            stop,
            reports: self.report.clone(),
        };
        self.tasks.spawn(instance::run(Arc::clone(&self.shards), shard, instance));
    }

    pub(super) fn order_stop(&mut self, shard: &Shard, reason: StopReason) {
        tracing::debug!(shard = shard.key(), ?reason, "stopping");
        let (ending, next) = self.ending(reason);
        self.shared.doors.shut(self.shared.now(), shard.key(), next);
        match self.instances.get_mut(shard.key()) {
            // The instance waits for it, or will when its start is over.
            Some(running) => drop(running.stop.take().map(|stop| stop.send(ending))),
            // Its start failed after this was decided, and before it was carried out.
            None => self.stopped(shard, None),
        }
    }

    /// How a shard ends, and where it goes as far as that is known.
    fn ending(&self, reason: StopReason) -> (Ending, Option<NextOwner>) {
        let drain_within = self.drain_within;
        let hand_over = Ending::HandOver { drain_within };
        match reason {
            StopReason::Revoked { next, .. } => (hand_over, next.map(NextOwner::from)),
            // What is kept for this executor goes to nobody else.
            StopReason::Shutdown if self.returning => (Ending::Stop { drain_within }, None),
            StopReason::Shutdown => (hand_over, None),
            StopReason::NotGranted
            | StopReason::LeaseLost
            | StopReason::Replaced
            | StopReason::NamespaceDeleted => (Ending::AtOnce, None),
        }
    }

    /// Whether the shard has an instance that was not told to stop.
    pub(super) fn runs_on(&self, shard: &str) -> bool {
        self.instances.get(shard).is_some_and(|running| running.stop.is_some())
    }

    pub(super) fn hear_report(&mut self, report: Report) {
        match report {
            Report::Started { shard, outcome } => self.started(&shard, outcome),
            Report::Stopped { shard, state } => self.stopped(&shard, state),
            Report::Prepared { shard, generation, outcome } => {
                self.prepared(&shard, generation, outcome);
            }
            Report::Abandoned { shard, generation } => self.preparing.forget(&shard, generation),
        }
    }

    fn prepared(&mut self, shard: &str, generation: u64, outcome: Result<(), String>) {
        if let Err(error) = &outcome {
            tracing::warn!(shard, error, "the shard could not be prepared");
        }
        self.shared.tell(|holder, now| holder.prepared(now, shard, generation, outcome));
    }

    fn started(&mut self, shard: &Shard, outcome: Result<(), String>) {
        let runs = outcome.is_ok();
        if let Err(error) = &outcome {
            let (shard, generation) = (shard.key(), shard.generation());
            tracing::warn!(shard, generation, error, "the shard did not start");
            self.shared.doors.shut(self.shared.now(), shard, None);
            // An instance whose stop was ordered reports that it stopped, too.
            if self.runs_on(shard) {
                self.instances.remove(shard);
            }
        }
        let (key, generation) = (shard.key(), shard.generation());
        self.shared.tell(|holder, now| holder.started(now, key, generation, outcome));
        // Only now: who comes in asks the holder whether the shard runs.
        if runs {
            self.shared.doors.open(key);
        }
    }

    fn stopped(&mut self, shard: &Shard, state: Option<State>) {
        self.instances.remove(&shard.key);
        self.book.forget(&shard.key);
        let (key, generation) = (shard.key(), shard.generation());
        self.shared.tell(|holder, now| holder.stopped(now, key, generation, state));
    }
}
