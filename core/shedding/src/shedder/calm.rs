//! Arrivals and ends that leave nothing to decide: nearly all, while there is no
//! overload. Apart, and small enough to be inlined, so that they cost a few
//! comparisons and additions under the shell's lock.

use super::{Moment, Shedder};
use crate::request::Request;
use crate::settings::Enforcement;
use crate::time::Time;
use crate::verdict::{Hold, Outcome, Permit};

impl Shedder {
    /// Admits a request if there is nothing to decide: nobody waits, a place is
    /// free and no slot is over. Neither verdicts nor the timer change then. `None`:
    /// nothing has happened; ask [`Shedder::arrive_watched`].
    #[inline]
    pub fn arrive_calmly(&mut self, now: Time, request: &Request) -> Option<Permit> {
        let moment = self.calm_moment(now)?;
        let queue = self.queues.get_mut(request.queue.0 as usize)?;
        let is_calm = queue.is_calm(request.level)
            && moment.at < queue.next_roll
            && self.places.has_place(queue.inflight)
            && request.enforcement == Enforcement::Enforce
            && request.deadline.is_none_or(|deadline| deadline > moment.now)
            && !self.pressure.is_on()
            && !self.is_shut_down;
        if !is_calm {
            return None;
        }
        self.clock.tick(moment.now);
        queue.demand.arrived(request.level);
        queue.saw_empty(moment.at);
        self.places.take(moment.at, queue.inflight, queue.typical);
        queue.take_place(moment.at, request.level);
        queue.note_occupancy(moment.at);
        Some(self.permit(moment, request, Hold::Place))
    }

    /// A handler has ended, if nobody waits for its place and no slot is over.
    /// Neither verdicts nor the timer change then. `false`: nothing has happened;
    /// tell [`Shedder::complete_watched`].
    #[inline]
    pub fn complete_calmly(&mut self, now: Time, permit: &Permit, outcome: Outcome) -> bool {
        let Some(moment) = self.calm_moment(now) else { return false };
        let Some(queue) = self.queues.get_mut(permit.queue.0 as usize) else { return false };
        let is_calm = permit.hold == Hold::Place
            && queue.is_unclaimed()
            && moment.at < queue.next_roll
            && !self.places.short;
        if !is_calm {
            return false;
        }
        if outcome == Outcome::Answered {
            queue.handling.record(self.clock.ran(permit.admitted_at, permit.stalled, moment.now));
        }
        self.clock.tick(moment.now);
        self.places.free(moment.at, queue.inflight, queue.typical);
        queue.free_place(moment.at);
        queue.note_occupancy(moment.at);
        true
    }

    /// Now, if the process did not stand still before.
    #[inline]
    fn calm_moment(&self, now: Time) -> Option<Moment> {
        let now = self.clock.unless_late(now)?;
        Some(Moment { now, at: self.clock.running(now) })
    }
}
