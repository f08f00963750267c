//! How late the event loop runs its timers: a handler that blocks or too much CPU
//! work makes every request late, whatever its queue says.

use std::time::Duration;

use plimsoll_shedding::signal::SignalKind;

use super::{ResourceSignal, Tick};

/// From this lag on shedding is wanted: the bound of DAGOR for a queue's average.
const BEARABLE: Duration = Duration::from_millis(20);

/// How often it is looked for; and after so many probes that were late by less than
/// that part of what is bearable.
const PERIOD: Duration = Duration::from_millis(10);
const CALM_PERIOD: Duration = Duration::from_millis(50);
const CALM: u32 = 10;
const ON_TIME: f64 = 0.25;

/// Event-loop lag, as each probe finds it: the shedder weighs them itself, and an
/// average counted in probes would be slow just when probes are late.
///
/// An event loop that is on time is looked at less often: a probe costs what a small
/// request does.
#[derive(Debug)]
pub struct LagSignal {
    bearable: f64,
    /// Probes in a row that were on time.
    on_time: u32,
}

impl LagSignal {
    /// Shedding is wanted from a lag of 20 ms on.
    pub fn new() -> Self {
        Self::bearing(BEARABLE)
    }

    /// Shedding is wanted from that lag on, at least a millisecond.
    pub fn bearing(lag: Duration) -> Self {
        Self { bearable: lag.max(Duration::from_millis(1)).as_secs_f64(), on_time: 0 }
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
        if self.on_time < CALM { PERIOD } else { CALM_PERIOD }
    }

    fn measure(&mut self, tick: Tick) -> Option<f64> {
        let pressure = tick.late.as_secs_f64() / self.bearable;
        self.on_time = if pressure < ON_TIME { self.on_time.saturating_add(1) } else { 0 };
        Some(pressure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_probe_counts_by_itself() {
        let mut signal = LagSignal::new();
        for (late, pressure) in [(0, 0.0), (100, 5.0), (20, 1.0), (0, 0.0)] {
            let tick = Tick { late: Duration::from_millis(late) };
            assert_eq!(signal.measure(tick), Some(pressure), "{late} ms");
        }
    }

    #[test]
    fn a_loop_that_is_on_time_is_probed_less_often_until_it_is_late_once() {
        let mut signal = LagSignal::new();
        let on_time = Tick { late: Duration::from_millis(2) };
        for _ in 0..CALM {
            signal.measure(on_time);
        }
        assert_eq!(signal.period(), CALM_PERIOD);
        signal.measure(Tick { late: Duration::from_millis(6) });
        assert_eq!(signal.period(), PERIOD);
    }
}
