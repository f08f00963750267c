//! A strict priority queue with folly's CoDel at its head: what one gets by
//! joining the two without more thought.

use std::time::Duration;

use plimsoll_shedding::Time;

use crate::asked::Asked;
use crate::codel::Codel;
use crate::machine::{Algorithm, Order};

/// The most critical first; whoever waited too long while overloaded is dropped.
#[derive(Debug)]
pub struct PriorityCodel {
    slots: usize,
    codel: Codel,
}

impl PriorityCodel {
    /// `slots` handlers at once.
    pub fn new(slots: usize) -> Self {
        Self { slots, codel: Codel::default() }
    }
}

impl Algorithm for PriorityCodel {
    fn slots(&self) -> usize {
        self.slots
    }

    fn order(&self) -> Order {
        Order::Level
    }

    fn dequeue(&mut self, now: Time, _asked: &Asked, wait: Duration) -> bool {
        !self.codel.drops(now, wait)
    }
}
