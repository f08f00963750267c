//! How fast places come free while all are taken: departures over the time in
//! which the meter was on.
//!
//! Under full occupancy that ratio is the capacity, whatever the distribution of
//! handling times and however rarely occupancy is full.

use std::time::Duration;

use crate::time::Time;

#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    on_since: Option<Time>,
    on_for: Duration,
    departures: u32,
}

impl Meter {
    /// Turns the meter on or off.
    #[inline]
    pub(crate) fn set(&mut self, at: Time, on: bool) {
        if self.on_since.is_some() != on {
            self.toggle(at);
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on_since.is_some()
    }

    #[cold]
    fn toggle(&mut self, at: Time) {
        match self.on_since.take() {
            Some(since) => self.on_for += at - since,
            None => self.on_since = Some(at),
        }
    }

    /// A place came free.
    #[inline]
    pub(crate) fn departed(&mut self) {
        // Nothing is written while it is off: other cores read what lies beside.
        if self.on_since.is_some() {
            self.departures += 1;
        }
    }

    pub(crate) fn departures(&self) -> u32 {
        self.departures
    }

    /// For how long it was on since it was last read, up to `at`.
    pub(crate) fn elapsed(&self, at: Time) -> Duration {
        self.on_for + self.on_since.map_or(Duration::ZERO, |since| at - since)
    }

    /// Reads and resets it: departures, and the time in which it was on.
    pub(crate) fn take(&mut self, at: Time) -> (u32, Duration) {
        let read = (self.departures, self.elapsed(at));
        *self = Self { on_since: self.on_since.map(|_| at), ..Self::default() };
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn only_what_happens_while_it_is_on_counts() {
        let mut meter = Meter::default();
        meter.departed();
        meter.set(ms(10), true);
        meter.departed();
        meter.departed();
        meter.set(ms(30), false);
        meter.departed();
        assert_eq!(meter.take(ms(99)), (2, Duration::from_millis(20)));
        assert_eq!(meter.take(ms(99)), (0, Duration::ZERO));
    }

    #[test]
    fn reading_does_not_turn_it_off() {
        let mut meter = Meter::default();
        meter.set(ms(0), true);
        assert_eq!(meter.take(ms(5)).1, Duration::from_millis(5));
        assert_eq!(meter.take(ms(7)).1, Duration::from_millis(2));
    }
}
