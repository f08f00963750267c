//! The least queue wait over a sliding window: the seed's detector.
//!
//! Ten slots of a tenth of the window each. A window in which nobody was served
//! says nothing, so it is not overload.

use std::time::Duration;

use plimsoll_shedding::Time;

const SLOTS: usize = 10;

/// Remembers the least wait of each tenth of a window.
#[derive(Debug)]
pub struct MinWait {
    slot_nanos: u64,
    /// The number of the tenth since the origin, and its least wait.
    ring: [(u64, Option<Duration>); SLOTS],
}

impl MinWait {
    /// A window of that length, at least ten nanoseconds.
    pub fn new(window: Duration) -> Self {
        let nanos = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        Self { slot_nanos: (nanos / SLOTS as u64).max(1), ring: [(0, None); SLOTS] }
    }

    /// Somebody was served who had waited so long.
    pub fn record(&mut self, now: Time, wait: Duration) {
        let number = self.number(now);
        let slot = &mut self.ring[(number % SLOTS as u64) as usize];
        if slot.0 != number {
            *slot = (number, None);
        }
        slot.1 = Some(slot.1.map_or(wait, |least| least.min(wait)));
    }

    /// The least wait in the window that ends now; `None` if nobody was served.
    pub fn least(&self, now: Time) -> Option<Duration> {
        let number = self.number(now);
        let recent = self.ring.iter().filter(|(at, _)| at + SLOTS as u64 > number);
        recent.filter_map(|(_, wait)| *wait).min()
    }

    fn number(&self, now: Time) -> u64 {
        now.as_nanos() / self.slot_nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_least_wait_counts_for_one_window_and_no_longer() {
        let mut waits = MinWait::new(100 * MS);
        waits.record(Time::from_millis(0), 3 * MS);
        for at in 1..10 {
            waits.record(Time::from_millis(at * 10), 40 * MS);
        }
        assert_eq!(waits.least(Time::from_millis(99)), Some(3 * MS));
        assert_eq!(waits.least(Time::from_millis(100)), Some(40 * MS));
    }

    #[test]
    fn a_window_without_service_says_nothing() {
        let mut waits = MinWait::new(100 * MS);
        waits.record(Time::from_millis(5), 40 * MS);
        assert_eq!(waits.least(Time::from_millis(500)), None);
    }
}
