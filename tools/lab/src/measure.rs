//! Latencies and rates, measured so that they do not flatter.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Latencies of one kind, in nanoseconds, up to a minute, to three digits.
#[derive(Clone)]
pub(crate) struct Latencies(Arc<Mutex<Histogram<u64>>>);

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        // The bounds are constants and in order.
        let histogram = Histogram::new_with_bounds(1_000, 60_000_000_000, 3);
        Self(Arc::new(Mutex::new(histogram.unwrap_or_else(|_| unreachable!("constant bounds")))))
    }

    pub(crate) fn record(&self, took: Duration) {
        self.0.lock().saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        let histogram = self.0.lock();
        let millis = |nanos: u64| nanos as f64 / 1e6;
        Percentiles {
            count: histogram.len(),
            p50_ms: millis(histogram.value_at_quantile(0.5)),
            p99_ms: millis(histogram.value_at_quantile(0.99)),
            max_ms: millis(histogram.max()),
        }
    }
}

/// Closed loop: so many callers, each calling again as soon as it is answered.
/// Calls a second.
pub(crate) async fn saturate<C, F>(callers: usize, span: Duration, call: C) -> f64
where
    C: Fn(usize, u64) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send,
{
    let (call, begun) = (Arc::new(call), Instant::now());
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let call = call.clone();
            tokio::spawn(async move {
                let mut calls = 0;
                while begun.elapsed() < span {
                    call(caller, calls).await;
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let mut total = 0;
    for task in tasks {
        total += task.await.unwrap_or(0);
    }
    total as f64 / begun.elapsed().as_secs_f64()
}

/// Open loop: so many calls a second, each timed from when it was due, however
/// long the others take. What was reached, a second. A thread of its own sends
/// them, since tokio's timer has a resolution of a millisecond.
pub(crate) async fn offer<C, F>(rate: f64, span: Duration, latencies: &Latencies, call: C) -> f64
where
    C: Fn(u64) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (tasks, begun) = (TaskTracker::new(), Instant::now());
    let total = (rate * span.as_secs_f64()) as u64;
    let (runtime, under_way, latencies) = (Handle::current(), tasks.clone(), latencies.clone());
    let sending = tokio::task::spawn_blocking(move || {
        for n in 0..total {
            let due = begun + Duration::from_secs_f64(n as f64 / rate);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let (called, latencies) = (call(n), latencies.clone());
            under_way.spawn_on(
                async move {
                    called.await;
                    latencies.record(due.elapsed());
                },
                &runtime,
            );
        }
    });
    let sent = sending.await.is_ok();
    tasks.close();
    tasks.wait().await;
    if sent { total as f64 / begun.elapsed().as_secs_f64() } else { 0.0 }
}

/// The median and the spread of repeated measurements.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Repeated {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Repeated {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
        let last = values.len().saturating_sub(1);
        Self { median: at(values.len() / 2), least: at(0), most: at(last) }
    }
}
