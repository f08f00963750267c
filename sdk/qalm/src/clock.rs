//! The monotonic clock, as the core wants it told. Wall-clock jumps do not exist
//! for it.

use std::time::Duration;

use plimsoll_shedding::Time;

/// Tells the time since it was made. It is read twice a request: the processor's
/// counter costs half of what the operating system's clock does.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    counter: quanta::Clock,
    origin: u64,
    /// Nanoseconds in [`STEPS`] of the counter's steps.
    scale: u64,
}

/// A power of two, so that a division by it is a shift by a known width.
const STEPS: u64 = 1 << 32;

impl Clock {
    pub(crate) fn new() -> Self {
        let counter = quanta::Clock::new();
        let (origin, scale) = (counter.raw(), counter.delta_as_nanos(0, STEPS));
        Self { counter, origin, scale }
    }

    #[inline]
    pub(crate) fn now(&self) -> Time {
        // Zero if another core's counter lies behind by some nanoseconds.
        let steps = self.counter.raw().saturating_sub(self.origin);
        let scaled = u128::from(steps) * u128::from(self.scale);
        Time::from_nanos((scaled / u128::from(STEPS)) as u64)
    }

    /// How long it is until `time`; zero if it is over.
    pub(crate) fn until(&self, time: Time) -> Duration {
        time.since(self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_as_fast_as_the_systems_clock() {
        let (clock, began) = (Clock::new(), std::time::Instant::now());
        let from = clock.now();
        while began.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        let (ours, theirs) = (clock.now() - from, began.elapsed());
        assert!(ours.abs_diff(theirs) < theirs / 20, "{ours:?} for {theirs:?}");
    }
}
