//! What time alone brings about: slots that close, requests that give up.

use super::{Moment, Shedder};
use crate::criticality::Criticality;
use crate::request::{QueueIndex, Request};
use crate::time::Time;
use crate::verdict::{Reason, Ticket};

impl Shedder {
    pub(super) fn pass_time(&mut self, moment: Moment) {
        self.expire(moment);
        for position in (0..self.awake.len()).rev() {
            let index = self.awake[position] as usize;
            if moment.at >= self.queues[index].next_roll {
                self.roll(moment, index);
            }
            self.let_sleep(position);
        }
        self.set_timer(moment);
    }

    /// Closes the slots of a queue that are over, and acts on what they say.
    #[cold]
    #[inline(never)]
    pub(super) fn roll(&mut self, moment: Moment, index: usize) {
        self.queues[index].roll(&self.room, moment.at);
        let typical = self.queues[index].typical;
        self.places.limiter.tick(moment.at, typical, self.places.short);
        self.drop_stale(moment, index);
        self.serve(moment, index);
        if self.queues[index].needs_timer() {
            self.wake(QueueIndex(index as u32));
        }
    }

    /// During an overload nobody of levels 3 and 4 waits longer than two windows,
    /// nor ever longer than nothing has ended for, if that is long.
    fn drop_stale(&mut self, moment: Moment, index: usize) {
        for level in [Criticality::Internal, Criticality::Feature] {
            while let Some(slot) = self.stale(moment, index, level) {
                self.refuse_waiting(moment, slot, Reason::Overload);
            }
        }
    }

    fn stale(&self, moment: Moment, index: usize, level: Criticality) -> Option<u32> {
        let queue = &self.queues[index];
        let slot = queue.lanes[level.index()].oldest()?;
        let waited = moment.at - self.room.waiter(slot).since;
        let is_late = queue.overload.is_active() && waited > queue.tuning.interval * 2;
        (is_late || waited.min(moment.at - queue.freed_at) > queue.hangs_after()).then_some(slot)
    }

    /// When it gives up: at its deadline; a critical request is asked before, after
    /// its patience, and goes if critical requests alone are too many.
    pub(super) fn schedule_expiry(&mut self, moment: Moment, request: &Request, ticket: Ticket) {
        let settings = self.queues[request.queue.0 as usize].settings;
        if settings.never_drop_critical && request.level.is_critical() {
            return;
        }
        let patience = request.level.is_critical().then(|| moment.now + settings.critical_patience);
        if let Some(due) = earliest(request.deadline, patience) {
            self.expiries.push(&self.room, due, ticket);
        }
    }

    fn expire(&mut self, moment: Moment) {
        while let Some(ticket) = self.expiries.pop(&self.room, moment.now) {
            if self.gives_up(moment, ticket.slot) {
                self.refuse_waiting(moment, ticket.slot, Reason::Expired);
            } else {
                let waiter = self.room.waiter(ticket.slot);
                let slot = self.queues[waiter.queue.0 as usize].slot();
                let again = earliest(waiter.deadline, Some(moment.now + slot));
                self.expiries.push(&self.room, again.unwrap_or(Time::MAX), ticket);
            }
        }
    }

    fn gives_up(&self, moment: Moment, slot: u32) -> bool {
        let waiter = self.room.waiter(slot);
        let queue = &self.queues[waiter.queue.0 as usize];
        let waited = moment.at - waiter.since;
        waiter.deadline.is_some_and(|deadline| deadline <= moment.now)
            || (queue.overload.is_saturated() && waited >= queue.settings.critical_patience)
    }

    /// The process stood still.
    #[cold]
    pub(super) fn thaw(&mut self, moment: Moment) {
        for queue in &mut self.queues {
            queue.thaw(moment.at);
        }
    }

    /// A queue that needs a timer from now on.
    pub(super) fn wake(&mut self, queue: QueueIndex) {
        let it = &mut self.queues[queue.0 as usize];
        if !it.is_awake {
            it.is_awake = true;
            self.awake.push(queue.0);
        }
    }

    fn let_sleep(&mut self, position: usize) {
        let queue = &mut self.queues[self.awake[position] as usize];
        if !queue.needs_timer() {
            queue.is_awake = false;
            self.awake.swap_remove(position);
        }
    }

    /// Sets the timer to what is due first.
    pub(super) fn set_timer(&mut self, moment: Moment) {
        let rolls = self.awake.iter().map(|&index| self.queues[index as usize].next_roll);
        let roll = rolls.min().map(|at| self.clock.on_clock(at));
        let due = earliest(roll, self.expiries.next());
        self.clock.arm(due.map(|due| due.max(moment.now)));
    }
}

fn earliest(one: Option<Time>, two: Option<Time>) -> Option<Time> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    }
}
