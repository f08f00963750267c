//! What becomes of places and positions that are given back.

use super::{Moment, Shedder};
use crate::criticality::Criticality;
use crate::handling::Handling;
use crate::request::Request;
use crate::time::Time;
use crate::verdict::{Hold, Outcome, Permit};

impl Shedder {
    /// As [`Shedder::complete`], for one that [`Shedder::complete_calmly`] did not
    /// take. Each permit once.
    pub fn complete_watched(&mut self, now: Time, permit: &Permit, outcome: Outcome) {
        let moment = self.observe(now);
        let index = permit.queue.0 as usize;
        if permit.hold == Hold::Unwatched || index >= self.queues.len() {
            return;
        }
        if moment.at >= self.queues[index].next_roll {
            self.roll(moment, index);
        }
        if outcome == Outcome::Answered {
            self.record_handling(moment, permit);
        }
        self.release(moment, permit);
    }

    /// A handler that answered took so long, stalls of the process taken out. In
    /// a dry run beyond the limit it took longer than it would have.
    fn record_handling(&mut self, moment: Moment, permit: &Permit) {
        let took = self.clock.ran(permit.admitted_at, permit.stalled, moment.now);
        let queue = &mut self.queues[permit.queue.0 as usize];
        if permit.hold == Hold::Place || !queue.is_crowded() {
            queue.handling.record(took);
        } else {
            queue.crowded.record(took);
        }
    }

    /// Gives back what a permit took up.
    pub(super) fn release(&mut self, moment: Moment, permit: &Permit) {
        let index = permit.queue.0 as usize;
        match permit.hold {
            Hold::Place => self.free_place(moment, index),
            Hold::Ghost | Hold::Over => self.release_ghost(moment, permit),
            Hold::Unwatched => return,
        }
        self.uncount_caller(permit);
        if self.queues[index].waiting > 0 || self.places.short {
            self.serve(moment, index);
            self.set_timer(moment);
        }
        self.queues[index].note_occupancy(moment.at);
    }

    fn free_place(&mut self, moment: Moment, index: usize) {
        let queue = &mut self.queues[index];
        self.places.free(moment.at, queue.inflight, queue.typical);
        queue.free_place(moment.at);
    }

    /// In a dry run places come free as fast as handlers end: whichever of them
    /// it is that ends, one ghost goes. One that enforcing would have refused
    /// counts only while there are more handlers than places: then it had taken
    /// up what the others would have had.
    fn release_ghost(&mut self, moment: Moment, permit: &Permit) {
        let index = permit.queue.0 as usize;
        let queue = &mut self.queues[index];
        let crowded = queue.is_crowded();
        queue.dry_running = queue.dry_running.saturating_sub(1);
        let counts = permit.hold == Hold::Ghost || crowded;
        if counts && queue.ghosts > 0 {
            queue.ghosts -= 1;
            self.free_place(moment, index);
        } else if permit.hold == Hold::Ghost {
            queue.ghosts_ended = (queue.ghosts_ended + 1).min(queue.ghosts_waiting);
        }
        if self.queues[index].dry_running == 0 {
            self.dismiss_ghosts(moment, index);
        }
    }

    /// No handler of a dry run is left: nor may any place or position be.
    fn dismiss_ghosts(&mut self, moment: Moment, index: usize) {
        while self.queues[index].ghosts > 0 {
            self.queues[index].ghosts -= 1;
            self.free_place(moment, index);
        }
        self.queues[index].ghosts_ended = self.queues[index].ghosts_waiting;
        self.queues[index].crowded = Handling::default();
    }

    /// One that waits goes for good.
    pub(super) fn withdraw(&mut self, moment: Moment, slot: u32) {
        let index = self.room.waiter(slot).queue.0 as usize;
        self.take_out(moment, slot);
        self.room.leave(slot);
        self.serve(moment, index);
        self.note_occupancy(moment, crate::request::QueueIndex(index as u32));
        self.set_timer(moment);
    }

    /// Takes one out of the lists that it waits in.
    pub(super) fn take_out(&mut self, moment: Moment, slot: u32) {
        let waiter = *self.room.waiter(slot);
        let queue = &mut self.queues[waiter.queue.0 as usize];
        queue.remove(&mut self.room, slot, moment.at);
        queue.ghosts_ended = queue.ghosts_ended.min(queue.ghosts_waiting);
        if !waiter.ghost {
            self.uncount(waiter.queue.0 as usize, waiter.level, waiter.caller.0);
        }
    }

    /// A caller with a cap has so many more.
    pub(super) fn count_caller(&mut self, request: &Request, more: u32) {
        let queue = &mut self.queues[request.queue.0 as usize];
        if queue.settings.caller_cap.is_some() && !request.level.is_critical() {
            *queue.of_caller(request.caller.0) += more;
        }
    }

    fn uncount_caller(&mut self, permit: &Permit) {
        if permit.hold != Hold::Over {
            self.uncount(permit.queue.0 as usize, permit.level, permit.caller.0);
        }
    }

    fn uncount(&mut self, index: usize, level: Criticality, caller: u32) {
        let queue = &mut self.queues[index];
        if queue.settings.caller_cap.is_some() && !level.is_critical() {
            let count = queue.of_caller(caller);
            *count = count.saturating_sub(1);
        }
    }
}
