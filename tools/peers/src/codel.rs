//! folly's `Codel`: the service variant of CoDel that Facebook described in "Fail
//! at Scale". It knows no priorities.
//!
//! While the least wait of the last interval was above the target, whoever waited
//! more than twice the target is dropped when a slot is free. The first request of
//! an interval is never dropped.

use std::time::Duration;

use plimsoll_shedding::Time;

use crate::asked::Asked;
use crate::machine::Algorithm;

const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);

/// The detector alone, with folly's defaults.
#[derive(Debug, Default)]
pub struct Codel {
    least: Duration,
    interval_ends: Time,
    overloaded: bool,
}

impl Codel {
    /// Whether one that waited so long must be dropped now.
    pub fn drops(&mut self, now: Time, wait: Duration) -> bool {
        if now > self.interval_ends {
            self.interval_ends = now + INTERVAL;
            self.overloaded = self.least > TARGET;
            self.least = wait;
            return false;
        }
        self.least = self.least.min(wait);
        self.overloaded && wait > 2 * TARGET
    }
}

/// A first-come queue with folly's detector at its head.
#[derive(Debug)]
pub struct Folly {
    slots: usize,
    codel: Codel,
}

impl Folly {
    /// `slots` handlers at once: the threads of the original.
    pub fn new(slots: usize) -> Self {
        Self { slots, codel: Codel::default() }
    }
}

impl Algorithm for Folly {
    fn slots(&self) -> usize {
        self.slots
    }

    fn dequeue(&mut self, now: Time, _asked: &Asked, wait: Duration) -> bool {
        !self.codel.drops(now, wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn an_interval_above_the_target_makes_the_next_one_drop() {
        let mut codel = Codel::default();
        assert!(!codel.drops(at(1), 20 * MS));
        assert!(!codel.drops(at(50), 20 * MS), "not known yet");
        assert!(!codel.drops(at(102), 20 * MS), "the first of an interval is never dropped");
        assert!(codel.drops(at(103), 11 * MS));
        assert!(!codel.drops(at(104), 10 * MS), "twice the target is allowed");
    }

    #[test]
    fn one_short_wait_in_an_interval_spares_the_next_one() {
        let mut codel = Codel::default();
        assert!(!codel.drops(at(1), 20 * MS));
        assert!(!codel.drops(at(50), 4 * MS));
        assert!(!codel.drops(at(102), 20 * MS));
        assert!(!codel.drops(at(103), 200 * MS));
    }
}
