//! Refusals: of one that arrives, and of those that wait and must go.

use std::time::Duration;

use super::{Moment, Shedder};
use crate::criticality::Criticality;
use crate::lane::Lane;
use crate::queue::Queue;
use crate::request::{QueueIndex, Request};
use crate::settings::Enforcement;
use crate::shares::Standing;
use crate::verdict::{Arrival, Hold, Reason, Refusal};
use crate::waiting::Fate;

impl Shedder {
    /// Refuses one that arrives; in dry-run it is only noted.
    pub(super) fn turn_away(
        &mut self,
        moment: Moment,
        request: &Request,
        reason: Reason,
    ) -> Arrival {
        let refusal = self.refusal(moment, request.queue, request.level, reason);
        if request.enforcement != Enforcement::DryRun || reason == Reason::ShuttingDown {
            return Arrival::Refused(refusal);
        }
        self.queues[request.queue.0 as usize].dry_running += 1;
        let mut permit = self.permit(moment, request, Hold::Over);
        permit.would_refuse = Some(Box::new(refusal));
        Arrival::Admitted(permit)
    }

    fn refusal(
        &mut self,
        moment: Moment,
        queue: QueueIndex,
        level: Criticality,
        reason: Reason,
    ) -> Refusal {
        let spread = 0.5 + self.jitter.unit();
        let queue = &mut self.queues[queue.0 as usize];
        match reason {
            Reason::Overload | Reason::PushedOut | Reason::CallerShare => {
                queue.overload.refused(moment.at, level);
            }
            Reason::QueueFull | Reason::CriticalSaturated => {
                queue.overload.bound_reached(moment.at)
            }
            Reason::Resource(_) | Reason::Expired | Reason::ShuttingDown => {}
        }
        let state = queue.state(moment.at);
        let unconditional = state.admitted_level().min(self.pressure.admitted_level(moment.at));
        let admitted_level = match reason {
            Reason::Overload | Reason::PushedOut | Reason::Resource(_) => {
                unconditional.min(level.next_more_critical())
            }
            _ => unconditional,
        };
        // Signed, since that is fewer instructions: it is hours at most.
        let retry_after = Duration::from_nanos((queue.come_again * spread) as i64 as u64);
        Refusal { reason, admitted_level, retry_after }
    }

    /// Finds room within the bounds of the queue, if need be from those that
    /// matter less.
    pub(super) fn make_room(&mut self, moment: Moment, request: &Request) -> Result<(), Reason> {
        let (index, level) = (request.queue.0 as usize, request.level);
        if !self.could_fit(request) {
            return Err(full(level));
        }
        while !self.queues[index].fits(request.bytes) {
            let Some(slot) = self.queues[index].least_critical_below(level) else {
                return Err(full(level));
            };
            self.queues[index].overload.bound_reached(moment.at);
            let reason = match self.room.waiter(slot).level {
                victim if victim.is_critical() => Reason::CriticalSaturated,
                _ => Reason::PushedOut,
            };
            self.refuse_waiting(moment, slot, reason);
        }
        self.push_out_hopeless(moment, request);
        Ok(())
    }

    fn could_fit(&self, request: &Request) -> bool {
        let queue = &self.queues[request.queue.0 as usize];
        let (kept, bytes) = queue.kept_against(request.level);
        kept < queue.settings.max_queue
            && bytes.saturating_add(u64::from(request.bytes)) <= queue.settings.max_queue_bytes
    }

    /// While critical requests alone wait longer than level 3 may, one of the
    /// others goes for each that comes.
    fn push_out_hopeless(&mut self, moment: Moment, request: &Request) {
        let queue = &self.queues[request.queue.0 as usize];
        let most = queue.most_ahead(Criticality::Feature, Standing::Within);
        let hopeless =
            request.level.is_critical() && queue.overload.is_active() && queue.critical() > most;
        if hopeless && let Some(slot) = queue.least_critical_below(Criticality::CoreFlow) {
            self.refuse_waiting(moment, slot, Reason::PushedOut);
        }
    }

    /// One that waits is refused.
    pub(super) fn refuse_waiting(&mut self, moment: Moment, slot: u32, reason: Reason) {
        let waiter = *self.room.waiter(slot);
        let refusal = self.refusal(moment, waiter.queue, waiter.level, reason);
        self.take_out(moment, slot);
        if waiter.ghost {
            self.room.leave(slot);
        } else {
            self.room.set_fate(slot, Fate::Refused(refusal));
            self.verdicts.push_back(slot);
        }
    }

    pub(super) fn refuse_all_waiting(&mut self, moment: Moment) {
        for index in 0..self.queues.len() {
            while let Some(slot) = self.queues[index].lanes.iter().find_map(Lane::oldest) {
                self.refuse_waiting(moment, slot, Reason::ShuttingDown);
            }
        }
    }
}

fn full(level: Criticality) -> Reason {
    if level.is_critical() { Reason::CriticalSaturated } else { Reason::QueueFull }
}

impl Queue {
    /// When it is worth coming again: once what waits is served and a window has
    /// passed, and later the more is asked for.
    pub(crate) fn drained_in(&self) -> Duration {
        let overloaded = (self.demand.total() * self.per_request).clamp(1.0, 100.0);
        let backlog = self.predicted_wait(Criticality::Internal).min(Duration::from_secs(10));
        (self.tuning.interval + backlog).mul_f64(overloaded)
    }

    fn fits(&self, bytes: u32) -> bool {
        self.waiting < self.settings.max_queue
            && self.waiting_bytes.saturating_add(u64::from(bytes)) <= self.settings.max_queue_bytes
    }

    /// The one that goes first for a request of that level: the newest of the
    /// least critical level below it; for level 1 also the oldest of level 2.
    fn least_critical_below(&self, level: Criticality) -> Option<u32> {
        let below = self.lanes[level.index() + 1..]
            .iter()
            .skip(usize::from(level == Criticality::Infrastructure));
        let newest = below.rev().find_map(Lane::newest);
        match level {
            Criticality::Infrastructure => {
                newest.or_else(|| self.lanes[Criticality::CoreFlow.index()].oldest())
            }
            _ => newest,
        }
    }
}
