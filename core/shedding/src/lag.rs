//! How late the runtime is: from a permit to the first moment of its handler.
//!
//! When cores are short, requests queue for the runtime and not for places. The
//! smallest lag of a window tells it apart from one slow turn, as with waits.

use std::time::Duration;

use crate::time::Time;

/// Samples without which a window says nothing.
const MIN_SAMPLES: u32 = 4;

#[derive(Clone, Copy, Debug)]
struct Window {
    min: Duration,
    samples: u32,
}

const EMPTY: Window = Window { min: Duration::MAX, samples: 0 };

/// Minima of the window in progress and of the one before.
#[derive(Clone, Debug)]
pub(crate) struct Lag {
    current: Window,
    previous: Window,
    since: Time,
}

impl Lag {
    pub(crate) fn new() -> Self {
        Self { current: EMPTY, previous: EMPTY, since: Time::ZERO }
    }

    pub(crate) fn saw(&mut self, lag: Duration) {
        let samples = self.current.samples.saturating_add(1);
        self.current = Window { min: self.current.min.min(lag), samples };
    }

    /// Closes the window if `interval` has passed.
    pub(crate) fn roll(&mut self, at: Time, interval: Duration) {
        if at - self.since >= interval {
            self.previous = std::mem::replace(&mut self.current, EMPTY);
            self.since = at;
        }
    }

    /// What every request of the last whole window was late by, at least.
    pub(crate) fn standing(&self) -> Duration {
        if self.previous.samples < MIN_SAMPLES {
            return Duration::ZERO;
        }
        self.previous.min.min(self.current.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    fn after(lags: &[u64]) -> Lag {
        let mut lag = Lag::new();
        lag.roll(Time::from_millis(100), INTERVAL);
        lags.iter().for_each(|&millis| lag.saw(Duration::from_millis(millis)));
        lag.roll(Time::from_millis(200), INTERVAL);
        lag
    }

    #[test]
    fn what_all_are_late_by_stands() {
        assert_eq!(after(&[30, 22, 41, 25]).standing(), Duration::from_millis(22));
    }

    #[test]
    fn one_that_was_not_late_ends_it_at_once() {
        let mut lag = after(&[30, 22, 41, 25]);
        lag.saw(Duration::ZERO);
        assert_eq!(lag.standing(), Duration::ZERO);
    }

    #[test]
    fn a_few_late_ones_say_nothing() {
        assert_eq!(after(&[30, 22]).standing(), Duration::ZERO);
    }
}
