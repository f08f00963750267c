//! The seed read literally: a queue for an endpoint, overloaded while the least
//! wait of a window lies above a target; then levels 3 and 4 are dropped, and
//! levels 1 and 2 never.
//!
//! It does not say where they are dropped, so there are two readings. Target and
//! window are CoDel's, as the seed names none.

use std::time::Duration;

use plimsoll_shedding::Time;

use crate::asked::Asked;
use crate::machine::{Algorithm, Load};
use crate::min_wait::MinWait;

/// CoDel's target.
const TARGET: Duration = Duration::from_millis(5);
/// CoDel's interval.
const WINDOW: Duration = Duration::from_millis(100);

/// Where the literal seed drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Where {
    /// When a slot is free: if it has waited more than twice the target.
    Dequeue,
    /// On arrival.
    Arrival,
}

/// The seed, read literally.
#[derive(Debug)]
pub struct Literal {
    slots: usize,
    place: Where,
    waits: MinWait,
}

impl Literal {
    /// `slots` handlers at once: the seed had them configured.
    pub fn new(slots: usize, place: Where) -> Self {
        Self { slots, place, waits: MinWait::new(WINDOW) }
    }

    fn overloaded(&self, now: Time) -> bool {
        self.waits.least(now).is_some_and(|least| least > TARGET)
    }
}

impl Algorithm for Literal {
    fn slots(&self) -> usize {
        self.slots
    }

    fn arrive(&mut self, now: Time, asked: &Asked, _load: Load) -> bool {
        self.place == Where::Dequeue || asked.level.is_critical() || !self.overloaded(now)
    }

    fn dequeue(&mut self, now: Time, asked: &Asked, wait: Duration) -> bool {
        self.waits.record(now, wait);
        let late = self.place == Where::Dequeue && wait > 2 * TARGET;
        !late || asked.level.is_critical() || !self.overloaded(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::of;

    const MS: Duration = Duration::from_millis(1);

    /// Nobody waited less than 20 ms for a window.
    fn overloaded(place: Where) -> Literal {
        let mut literal = Literal::new(1, place);
        for at in 0..=10 {
            assert!(literal.dequeue(Time::from_millis(at * 10), &of(2), 20 * MS));
        }
        literal
    }

    #[test]
    fn overload_drops_levels_3_and_4_at_dequeue_and_no_others() {
        let (mut literal, now) = (overloaded(Where::Dequeue), Time::from_millis(101));
        assert!(literal.arrive(now, &of(4), Load::default()));
        let kept = [1, 2, 3, 4].map(|level| literal.dequeue(now, &of(level), 11 * MS));
        assert_eq!(kept, [true, true, false, false]);
        assert!(literal.dequeue(now, &of(4), 10 * MS), "not yet twice the target");
    }

    #[test]
    fn overload_drops_levels_3_and_4_on_arrival_and_no_others() {
        let (mut literal, now) = (overloaded(Where::Arrival), Time::from_millis(101));
        let kept = [1, 2, 3, 4].map(|level| literal.arrive(now, &of(level), Load::default()));
        assert_eq!(kept, [true, true, false, false]);
        assert!(literal.dequeue(now, &of(4), 500 * MS), "whoever was let in is served");
    }

    #[test]
    fn one_request_without_a_wait_ends_the_overload() {
        let (mut literal, now) = (overloaded(Where::Arrival), Time::from_millis(101));
        assert!(literal.dequeue(now, &of(2), Duration::ZERO));
        assert!(literal.arrive(now, &of(4), Load::default()));
    }
}
