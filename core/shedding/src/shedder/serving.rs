//! Giving free places to those that wait.

use super::{Moment, Shedder};
use crate::criticality::Criticality;
use crate::request::{QueueIndex, Request};
use crate::verdict::{Hold, Permit, Reason};

impl Shedder {
    /// Takes a place for one that starts as it arrives.
    pub(super) fn take_place(&mut self, moment: Moment, request: &Request, hold: Hold) {
        let index = request.queue.0 as usize;
        if hold == Hold::Ghost {
            self.queues[index].ghosts += 1;
            self.queues[index].dry_running += 1;
        }
        self.count_caller(request, 1);
        self.occupy(moment, index, request.level);
        self.queues[index].note_occupancy(moment.at);
    }

    fn occupy(&mut self, moment: Moment, index: usize, level: Criticality) {
        let queue = &mut self.queues[index];
        self.places.take(moment.at, queue.inflight, queue.typical);
        queue.take_place(moment.at, level);
    }

    #[inline]
    pub(super) fn permit(&self, moment: Moment, request: &Request, hold: Hold) -> Permit {
        Permit {
            queue: request.queue,
            level: request.level,
            arrived_at: moment.now,
            admitted_at: moment.now,
            would_refuse: None,
            caller: request.caller,
            hold,
            started: false,
            stalled: self.clock.stalled(),
        }
    }

    /// The permit of one that waited.
    pub(super) fn permit_of(&self, slot: u32) -> Permit {
        let waiter = self.room.waiter(slot);
        Permit {
            queue: waiter.queue,
            level: waiter.level,
            arrived_at: waiter.arrived_at,
            admitted_at: waiter.admitted_at,
            would_refuse: None,
            caller: waiter.caller,
            hold: Hold::Place,
            started: false,
            stalled: self.clock.stalled(),
        }
    }

    /// Starts as many as there are places for. Others than the queue's own can
    /// only be concerned if the service was short of places.
    pub(super) fn serve(&mut self, moment: Moment, index: usize) {
        if self.places.short {
            return self.serve_all(moment);
        }
        while let Some(level) = self.servable(index) {
            self.serve_one(moment, index, level);
        }
    }

    /// Level by level over all queues, queues of a level in turn.
    pub(super) fn serve_all(&mut self, moment: Moment) {
        while let Some((index, level)) = self.next_in_turn() {
            self.serve_one(moment, index, level);
        }
        self.places.short = self.awake.iter().any(|&index| {
            let queue = &self.queues[index as usize];
            Criticality::ALL.iter().any(|&level| queue.has_waiting(level) && queue.has_place(level))
        });
    }

    fn next_in_turn(&mut self) -> Option<(usize, Criticality)> {
        for level in Criticality::ALL {
            let turn = self.turns[level.index()];
            let queues = self.awake.len();
            for step in 0..queues {
                let position = (turn + step) % queues;
                let index = self.awake[position] as usize;
                let queue = &self.queues[index];
                let may = queue.has_waiting(level) && queue.has_place(level);
                if may && self.places.has_place(queue.inflight) {
                    self.turns[level.index()] = (position + 1) % queues;
                    return Some((index, level));
                }
            }
        }
        None
    }

    /// The most critical level of a queue of which one may start.
    fn servable(&mut self, index: usize) -> Option<Criticality> {
        let queue = &self.queues[index];
        let level = Criticality::ALL
            .into_iter()
            .find(|&level| queue.has_waiting(level) && queue.has_place(level))?;
        let has_place = self.places.has_place(queue.inflight);
        self.places.short |= !has_place;
        has_place.then_some(level)
    }

    /// Starts the next of a level, if one is still worth starting.
    fn serve_one(&mut self, moment: Moment, index: usize, level: Criticality) {
        let newest_first = self.serves_newest_first(index, level);
        let Some(slot) = self.queues[index].lanes[level.index()].next(newest_first) else {
            return;
        };
        let waiter = *self.room.waiter(slot);
        if self.is_too_late(moment, index, slot) {
            return self.refuse_waiting(moment, slot, Reason::Expired);
        }
        self.queues[index].remove(&mut self.room, slot, moment.at);
        if waiter.ghost {
            return self.serve_ghost(moment, index, slot);
        }
        self.occupy(moment, index, level);
        self.room.admit(slot, moment.now);
        self.verdicts.push_back(slot);
        self.note_wait(moment, index);
    }

    fn serve_ghost(&mut self, moment: Moment, index: usize, slot: u32) {
        let level = self.room.waiter(slot).level;
        self.room.leave(slot);
        let queue = &mut self.queues[index];
        if queue.ghosts_ended > 0 {
            queue.ghosts_ended -= 1;
            return;
        }
        queue.ghosts += 1;
        self.occupy(moment, index, level);
        self.note_wait(moment, index);
    }

    fn note_wait(&mut self, moment: Moment, index: usize) {
        let queue = &mut self.queues[index];
        if queue.waiting > 0 {
            let wait = queue.oldest_wait(&self.room, moment.at);
            queue.detector.saw_wait(wait);
        }
    }

    fn serves_newest_first(&self, index: usize, level: Criticality) -> bool {
        let queue = &self.queues[index];
        level == Criticality::CoreFlow
            && queue.overload.is_saturated()
            && !queue.settings.never_drop_critical
    }

    /// Whether its caller will have given up before an answer can be there.
    fn is_too_late(&self, moment: Moment, index: usize, slot: u32) -> bool {
        let waiter = self.room.waiter(slot);
        let queue = &self.queues[index];
        let kept = queue.settings.never_drop_critical && waiter.level.is_critical();
        let typical = queue.handling.median().unwrap_or_default();
        !kept && waiter.deadline.is_some_and(|deadline| deadline <= moment.now + typical)
    }

    /// Measures with the places and queue as they are now.
    pub(super) fn note_occupancy(&mut self, moment: Moment, queue: QueueIndex) {
        self.queues[queue.0 as usize].note_occupancy(moment.at);
    }
}
