//! The last events of a namespace, for people who ask what happened.

use std::collections::VecDeque;

use parking_lot::Mutex;
use plimsoll_ownership::event::Event;

/// Events kept a namespace.
const KEPT: usize = 20_000;

/// The last events, oldest first.
#[derive(Debug, Default)]
pub struct History {
    events: Mutex<VecDeque<Event>>,
}

impl History {
    /// Adds an event and forgets the oldest if there are too many.
    pub fn push(&self, event: Event) {
        let mut events = self.events.lock();
        if events.len() == KEPT {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// The last events that fit, newest first.
    pub fn newest(&self, limit: usize, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
        self.events.lock().iter().rev().filter(|event| fits(event)).take(limit).cloned().collect()
    }
}
