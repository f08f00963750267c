//! One level of one queue: callers take turns, each in order of arrival.

use std::collections::VecDeque;

use crate::request::CallerIndex;
use crate::waiting::{List, Order, WaitingRoom};

/// Callers that take turns; beyond, some share one.
const CALLERS: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Turn {
    list: List,
    queued: bool,
}

/// Those that wait in one level.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    arrival: List,
    callers: Vec<Turn>,
    turns: VecDeque<u8>,
    waiting: u32,
}

impl Lane {
    pub(crate) fn new() -> Self {
        Self {
            arrival: List::new(Order::Level),
            callers: Vec::new(),
            turns: VecDeque::new(),
            waiting: 0,
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.waiting
    }

    /// The one that came first of all.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.arrival.oldest()
    }

    /// The one that came last of all.
    pub(crate) fn newest(&self) -> Option<u32> {
        self.arrival.newest()
    }

    pub(crate) fn push(&mut self, room: &mut WaitingRoom, slot: u32) {
        if self.callers.is_empty() {
            self.callers = vec![Turn { list: List::new(Order::Caller), queued: false }; CALLERS];
        }
        self.arrival.push(room, slot);
        let place = place(room.waiter(slot).caller);
        let caller = &mut self.callers[place];
        caller.list.push(room, slot);
        if !caller.queued {
            caller.queued = true;
            self.turns.push_back(place as u8);
        }
        self.waiting += 1;
    }

    pub(crate) fn remove(&mut self, room: &mut WaitingRoom, slot: u32) {
        let place = place(room.waiter(slot).caller);
        self.arrival.remove(room, slot);
        self.callers[place].list.remove(room, slot);
        self.waiting -= 1;
    }

    /// The next to be served: of the caller whose turn it is, its oldest or its
    /// newest. Ends that caller's turn.
    pub(crate) fn next(&mut self, newest_first: bool) -> Option<u32> {
        while let Some(place) = self.turns.pop_front() {
            let caller = &mut self.callers[place as usize];
            let next = if newest_first { caller.list.newest() } else { caller.list.oldest() };
            if let Some(slot) = next {
                self.turns.push_back(place);
                return Some(slot);
            }
            caller.queued = false;
        }
        None
    }
}

fn place(caller: CallerIndex) -> usize {
    caller.0 as usize % CALLERS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::criticality::Criticality;
    use crate::request::QueueIndex;
    use crate::time::Time;
    use crate::waiting::Waiter;

    fn waiter(caller: u32) -> Waiter {
        Waiter {
            queue: QueueIndex(0),
            level: Criticality::Feature,
            caller: CallerIndex(caller),
            arrived_at: Time::ZERO,
            since: Time::ZERO,
            deadline: None,
            bytes: 0,
            admitted_at: Time::ZERO,
            ghost: false,
        }
    }

    fn filled(callers: &[u32]) -> (WaitingRoom, Lane) {
        let (mut room, mut lane) = (WaitingRoom::default(), Lane::new());
        for &caller in callers {
            let ticket = room.enter(waiter(caller));
            lane.push(&mut room, ticket.slot);
        }
        (room, lane)
    }

    fn drain(room: &mut WaitingRoom, lane: &mut Lane, newest_first: bool) -> Vec<u32> {
        let mut served = Vec::new();
        while let Some(slot) = lane.next(newest_first) {
            lane.remove(room, slot);
            room.leave(slot);
            served.push(slot);
        }
        served
    }

    #[test]
    fn callers_take_turns_however_many_one_has_sent() {
        let (mut room, mut lane) = filled(&[1, 1, 1, 1, 2, 2]);
        assert_eq!(drain(&mut room, &mut lane, false), [0, 4, 1, 5, 2, 3]);
    }

    #[test]
    fn newest_first_holds_within_a_caller() {
        let (mut room, mut lane) = filled(&[1, 1, 1, 2, 2]);
        assert_eq!(drain(&mut room, &mut lane, true), [2, 4, 1, 3, 0]);
    }

    proptest! {
        #[test]
        fn whoever_is_taken_out_the_others_are_all_served_once(
            callers in prop::collection::vec(0..200u32, 0..60),
            gone in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
            newest_first in any::<bool>(),
        ) {
            let (mut room, mut lane) = filled(&callers);
            let mut left: Vec<u32> = (0..callers.len() as u32).collect();
            for index in gone {
                if !left.is_empty() {
                    let slot = left.remove(index.index(left.len()));
                    lane.remove(&mut room, slot);
                }
            }
            prop_assert_eq!(lane.len() as usize, left.len());
            prop_assert_eq!(lane.oldest(), left.first().copied());
            prop_assert_eq!(lane.newest(), left.last().copied());
            let mut served = drain(&mut room, &mut lane, newest_first);
            served.sort_unstable();
            prop_assert_eq!(served, left);
            prop_assert_eq!(lane.len(), 0);
        }
    }
}
