//! The clock of one machine: it has its own origin and runs fast or slow.

use plimsoll_placement::time::Time;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: u64,
    /// Ticks a thousand ticks of true time.
    rate: u64,
}

impl Clock {
    pub(crate) fn new(origin: u64, rate: u64) -> Self {
        Self { origin, rate }
    }

    pub(crate) fn at(&self, time: Time) -> Time {
        let ticks = u128::from(time.as_nanos()) * u128::from(self.rate) / 1_000;
        Time::from_nanos(self.origin + u64::try_from(ticks).unwrap())
    }

    /// The first true time at which this clock shows at least `shown`.
    pub(crate) fn when(&self, shown: Time) -> Time {
        let ticks = u128::from(shown.as_nanos().saturating_sub(self.origin));
        let nanos = (ticks * 1_000).div_ceil(u128::from(self.rate));
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
