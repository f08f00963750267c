//! How late the event loop runs its timers: a handler that blocks or too much CPU
//! work makes every request late, whatever its queue says.

use std::time::Duration;

use plimsoll_shedding::signal::SignalKind;

use super::{ResourceSignal, Tick};

/// From this lag on shedding is wanted: the bound of DAGOR for a queue's average.
const BEARABLE: Duration = Duration::from_millis(20);

/// Event-loop lag, as each probe finds it: the shedder weighs them itself, and an
/// average counted in probes would be slow just when probes are late.
#[derive(Debug)]
pub struct LagSignal {
    bearable: f64,
}

impl LagSignal {
    /// Shedding is wanted from a lag of 20 ms on.
    pub fn new() -> Self {
        Self::bearing(BEARABLE)
    }

    /// Shedding is wanted from that lag on, at least a millisecond.
    pub fn bearing(lag: Duration) -> Self {
        Self { bearable: lag.max(Duration::from_millis(1)).as_secs_f64() }
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
        Some(tick.late.as_secs_f64() / self.bearable)
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
}
