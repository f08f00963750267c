//! How late the event loop runs its timers: a handler that blocks or too much CPU
//! work makes every request late, whatever its queue says.

use std::time::Duration;

use plimsoll_shedding::signal::SignalKind;

use super::{ResourceSignal, Tick};

/// From this lag on shedding is wanted: the bound of DAGOR for a queue's average.
const BEARABLE: Duration = Duration::from_millis(20);
/// Timers have a grain of one millisecond, and fire up to one later.
const GRAIN: Duration = Duration::from_millis(2);
/// The part of a new measurement in the average: some 80 ms of memory.
const WEIGHT: f64 = 0.125;

/// Event-loop lag, averaged over about a tenth of a second.
#[derive(Debug)]
pub struct LagSignal {
    bearable: f64,
    average: f64,
}

impl LagSignal {
    /// Shedding is wanted from a lag of 20 ms on.
    pub fn new() -> Self {
        Self::bearing(BEARABLE)
    }

    /// Shedding is wanted from that lag on, at least a millisecond.
    pub fn bearing(lag: Duration) -> Self {
        Self { bearable: lag.max(Duration::from_millis(1)).as_secs_f64(), average: 0.0 }
    }
}

impl Default for LagSignal {
    fn default() -> Self {
        Self::new()
    }
}

impl ResourceSignal for LagSignal {
    fn kind(&self) -> SignalKind {
        SignalKind::Lag
    }

    fn period(&self) -> Duration {
        Duration::from_millis(10)
    }

    fn measure(&mut self, tick: Tick) -> Option<f64> {
        let late = tick.late.saturating_sub(GRAIN).as_secs_f64();
        self.average += WEIGHT * (late - self.average);
        Some(self.average / self.bearable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_late_timer_is_no_lag_and_many_are() {
        let mut signal = LagSignal::new();
        let late = Tick { late: Duration::from_millis(100) };
        assert!(signal.measure(late).unwrap() < 1.0);
        let pressure = (0..20).filter_map(|_| signal.measure(late)).last();
        assert!(pressure.unwrap() > 4.0);
        let on_time = Tick { late: Duration::from_millis(1) };
        assert!((0..60).filter_map(|_| signal.measure(on_time)).last().unwrap() < 0.01);
    }
}
