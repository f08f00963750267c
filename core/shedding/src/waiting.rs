//! All that wait, in one slab; each in two lists, by links inside it.
//!
//! So that a waiting request that is cancelled leaves at once and in constant
//! time, and that nothing is allocated once the slab has grown.

use crate::criticality::Criticality;
use crate::request::{CallerIndex, QueueIndex};
use crate::time::Time;
use crate::verdict::{Refusal, Ticket};

const NONE: u32 = u32::MAX;

/// The lists that a waiting request is in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// By arrival, all of a level.
    Level = 0,
    /// By arrival, those of one caller in a level.
    Caller = 1,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    older: u32,
    newer: u32,
}

const UNLINKED: Links = Links { older: NONE, newer: NONE };

/// What is known of one that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) queue: QueueIndex,
    pub(crate) level: Criticality,
    pub(crate) caller: CallerIndex,
    /// On the clock, for its permit.
    pub(crate) arrived_at: Time,
    /// In running time, for its wait.
    pub(crate) since: Time,
    pub(crate) deadline: Option<Time>,
    pub(crate) bytes: u32,
    /// On the clock; what it was before it is admitted says nothing.
    pub(crate) admitted_at: Time,
    /// In dry-run it runs already, and waits only in the reckoning.
    pub(crate) ghost: bool,
}

/// How far a place in the slab has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Free,
    Waiting,
    /// Its verdict is ready.
    Admitted,
    Refused(Refusal),
    /// Its verdict was ready, and nobody wants it any more.
    Dropped,
}

#[derive(Clone, Debug)]
struct Node {
    waiter: Waiter,
    fate: Fate,
    number: u32,
    links: [Links; 2],
}

/// The slab.
#[derive(Debug, Default)]
pub(crate) struct WaitingRoom {
    nodes: Vec<Node>,
    free: Vec<u32>,
}

impl WaitingRoom {
    /// A place for one that waits.
    pub(crate) fn enter(&mut self, waiter: Waiter) -> Ticket {
        let node = Node { waiter, fate: Fate::Waiting, number: 0, links: [UNLINKED; 2] };
        match self.free.pop() {
            Some(slot) => {
                let old = &mut self.nodes[slot as usize];
                *old = Node { number: old.number.wrapping_add(1), ..node };
                Ticket { slot, number: old.number }
            }
            None => {
                self.nodes.push(node);
                Ticket { slot: self.nodes.len() as u32 - 1, number: 0 }
            }
        }
    }

    /// The place is free for another.
    pub(crate) fn leave(&mut self, slot: u32) {
        self.nodes[slot as usize].fate = Fate::Free;
        self.free.push(slot);
    }

    pub(crate) fn waiter(&self, slot: u32) -> &Waiter {
        &self.nodes[slot as usize].waiter
    }

    pub(crate) fn admit(&mut self, slot: u32, now: Time) {
        let node = &mut self.nodes[slot as usize];
        node.waiter.admitted_at = now;
        node.fate = Fate::Admitted;
    }

    pub(crate) fn fate(&self, slot: u32) -> Fate {
        self.nodes[slot as usize].fate
    }

    pub(crate) fn set_fate(&mut self, slot: u32, fate: Fate) {
        self.nodes[slot as usize].fate = fate;
    }

    pub(crate) fn ticket(&self, slot: u32) -> Ticket {
        Ticket { slot, number: self.nodes[slot as usize].number }
    }

    /// What became of that ticket; `None` if it is long gone.
    pub(crate) fn fate_of(&self, ticket: Ticket) -> Option<Fate> {
        let node = self.nodes.get(ticket.slot as usize)?;
        let known = node.number == ticket.number && !matches!(node.fate, Fate::Free);
        known.then_some(node.fate)
    }
}

/// A list through the slab, oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    order: Order,
    oldest: u32,
    newest: u32,
}

impl List {
    pub(crate) fn new(order: Order) -> Self {
        Self { order, oldest: NONE, newest: NONE }
    }

    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    pub(crate) fn newest(&self) -> Option<u32> {
        (self.newest != NONE).then_some(self.newest)
    }

    pub(crate) fn push(&mut self, room: &mut WaitingRoom, slot: u32) {
        let order = self.order as usize;
        room.nodes[slot as usize].links[order] = Links { older: self.newest, newer: NONE };
        match self.newest() {
            Some(newest) => room.nodes[newest as usize].links[order].newer = slot,
            None => self.oldest = slot,
        }
        self.newest = slot;
    }

    /// Takes out one that is in this list.
    pub(crate) fn remove(&mut self, room: &mut WaitingRoom, slot: u32) {
        let order = self.order as usize;
        let Links { older, newer } = room.nodes[slot as usize].links[order];
        match room.nodes.get_mut(older as usize) {
            Some(node) => node.links[order].newer = newer,
            None => self.oldest = newer,
        }
        match room.nodes.get_mut(newer as usize) {
            Some(node) => node.links[order].older = older,
            None => self.newest = older,
        }
        room.nodes[slot as usize].links[order] = UNLINKED;
    }
}
