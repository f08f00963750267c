//! When the next of those that wait gives up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;
use crate::verdict::Ticket;
use crate::waiting::{Fate, WaitingRoom};

/// Entries of requests that are gone, beyond which the heap is swept.
const SLACK: usize = 64;

/// A heap of times on the clock. Whoever leaves stays in it until its time, or
/// until such entries are the majority.
#[derive(Debug, Default)]
pub(crate) struct Expiries {
    heap: BinaryHeap<Reverse<(Time, u32, u32)>>,
    swept: usize,
}

impl Expiries {
    pub(crate) fn push(&mut self, room: &WaitingRoom, due: Time, ticket: Ticket) {
        if self.heap.len() > 2 * self.swept + SLACK {
            self.heap.retain(|&Reverse((_, slot, number))| waits(room, Ticket { slot, number }));
            self.swept = self.heap.len();
        }
        self.heap.push(Reverse((due, ticket.slot, ticket.number)));
    }

    /// The next that still waits and whose time has come.
    pub(crate) fn pop(&mut self, room: &WaitingRoom, now: Time) -> Option<Ticket> {
        while let Some(&Reverse((due, slot, number))) = self.heap.peek() {
            let ticket = Ticket { slot, number };
            let is_waiting = waits(room, ticket);
            if is_waiting && due > now {
                return None;
            }
            self.heap.pop();
            if is_waiting {
                return Some(ticket);
            }
        }
        None
    }

    /// Not after the first time at which somebody gives up.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|&Reverse((due, ..))| due)
    }
}

fn waits(room: &WaitingRoom, ticket: Ticket) -> bool {
    matches!(room.fate_of(ticket), Some(Fate::Waiting))
}
