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
}

impl Clock {
    pub(crate) fn new() -> Self {
        let counter = quanta::Clock::new();
        let origin = counter.raw();
        Self { counter, origin }
    }

    #[inline]
    pub(crate) fn now(&self) -> Time {
        // Zero if another core's counter lies behind by some nanoseconds.
        Time::from_nanos(self.counter.delta_as_nanos(self.origin, self.counter.raw()))
    }

    /// How long it is until `time`; zero if it is over.
    pub(crate) fn until(&self, time: Time) -> Duration {
        time.since(self.now())
    }
}
