//! Measures resources in the background.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_shedding::signal::Signal;
use tokio::time::{Instant, sleep_until};

use crate::background::Background;
use crate::gate::{Gate, WeakGate};
use crate::signals::{ResourceSignal, Tick};

/// The signals, with the time of each one's next measurement.
type Signals = Vec<(Box<dyn ResourceSignal>, Option<Instant>)>;

#[derive(Debug)]
pub(crate) struct Sampler {
    /// `None`: there is nothing to measure.
    task: Option<Background>,
    signals: Arc<Mutex<Signals>>,
}

impl Sampler {
    pub(crate) fn new(signals: Vec<Box<dyn ResourceSignal>>) -> Self {
        let task = (!signals.is_empty()).then(Background::default);
        let signals = signals.into_iter().map(|signal| (signal, None)).collect();
        Self { task, signals: Arc::new(Mutex::new(signals)) }
    }

    pub(crate) fn ensure(&self, gate: &Gate) {
        if let Some(task) = &self.task {
            task.ensure(|| run(gate.downgrade(), Arc::clone(&self.signals)));
        }
    }
}

async fn run(gate: WeakGate, signals: Arc<Mutex<Signals>>) {
    let mut due = Instant::now();
    loop {
        sleep_until(due).await;
        let Some(gate) = gate.upgrade() else { break };
        let now = Instant::now();
        let tick = Tick { late: now.saturating_duration_since(due) };
        due = measure(&mut signals.lock(), tick, now, &gate);
        gate.expect_call(due.saturating_duration_since(now));
    }
}

/// Measures what is due. Returns when the next is.
fn measure(signals: &mut Signals, tick: Tick, now: Instant, gate: &Gate) -> Instant {
    for (signal, next) in signals.iter_mut() {
        if next.is_none_or(|next| next <= now) {
            if let Some(pressure) = signal.measure(tick) {
                gate.signal(Signal { kind: signal.kind(), pressure });
            }
            *next = Some(now + signal.period().max(Duration::from_millis(1)));
        }
    }
    let next = signals.iter().filter_map(|(_, next)| *next).min();
    next.unwrap_or(now + Duration::from_secs(1))
}
