//! The open loop of an experiment and the closed loop that finds the capacity.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_peers::{Admission, Guard, Rejected};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::service::{Service, ServicePlan};
use crate::load::Arrival;
use crate::record::{Fate, Record, unfinished};

/// Sends every arrival at its time, whatever became of the others, and waits for
/// at most `drain` after the last. The records are in the order of the arrivals.
pub async fn open_loop(
    admission: Arc<dyn Admission>,
    plan: ServicePlan,
    arrivals: &[Arrival],
    seed: u64,
    drain: Duration,
) -> Vec<Record> {
    let before = arrivals.first().map_or(0.0, |first| (-first.at).max(0.0));
    let origin = Instant::now() + Duration::from_secs_f64(before);
    let run = Arc::new(Run {
        admission,
        service: Service::new(plan, seed, origin),
        records: Mutex::new(arrivals.iter().map(unfinished).collect()),
    });
    let (under_way, mut all_ended) = mpsc::channel::<()>(1);
    let mut tasks = JoinSet::new();
    for (index, arrival) in arrivals.iter().enumerate() {
        let due = moment(origin, arrival.at);
        if due > Instant::now() {
            tokio::time::sleep_until(due).await;
        }
        tasks.spawn(run.clone().call(index, *arrival, due, under_way.clone()));
        while tasks.try_join_next().is_some() {}
    }
    drop(under_way);
    // What has not ended by then is unfinished.
    drop(tokio::time::timeout(drain, all_ended.recv()).await);
    tasks.abort_all();
    std::mem::take(&mut *run.records.lock())
}

/// The moment that lies `at` seconds after the origin, or before it.
pub(crate) fn moment(origin: Instant, at: f64) -> Instant {
    let span = Duration::from_secs_f64(at.abs());
    if at < 0.0 { origin.checked_sub(span).unwrap_or(origin) } else { origin + span }
}

#[derive(Debug)]
struct Run {
    admission: Arc<dyn Admission>,
    service: Arc<Service>,
    records: Mutex<Vec<Record>>,
}

impl Run {
    /// `under_way` is dropped once there is an answer.
    async fn call(
        self: Arc<Self>,
        index: usize,
        arrival: Arrival,
        due: Instant,
        under_way: mpsc::Sender<()>,
    ) {
        let called = Instant::now();
        let verdict = self.admission.admit(arrival.asked).await;
        let decided = Instant::now();
        let (fate, guard) = match verdict {
            Ok(guard) => {
                self.service.handle().await;
                (Fate::Answered, Some(guard))
            }
            Err(Rejected::Shed) => (Fate::Shed, None),
            Err(Rejected::Expired) => (Fate::Expired, None),
        };
        self.records.lock()[index] = Record {
            fate,
            latency_ms: millis(Instant::now() - due),
            decided_ms: millis(decided - called),
            lag_ms: millis(called.saturating_duration_since(due)),
            ..unfinished(&arrival)
        };
        drop(under_way);
        if let Some(guard) = guard {
            end(guard, arrival.stays_open).await;
        }
    }
}

/// Gives the place back; a stream then stays open until the run is over.
async fn end(guard: Guard, stays_open: bool) {
    if !stays_open {
        guard.answered();
        return;
    }
    let _held = guard.first_byte();
    std::future::pending::<()>().await;
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// So many callers, each asking again as soon as it is answered, with nothing in
/// front of the service. Requests a second after `warm_up`.
pub async fn closed_loop(
    plan: ServicePlan,
    callers: usize,
    warm_up: Duration,
    span: Duration,
    seed: u64,
) -> f64 {
    let origin = Instant::now();
    let service = Service::new(plan, seed, origin);
    let (from, to) = (origin + warm_up, origin + warm_up + span);
    let mut tasks = JoinSet::new();
    for _ in 0..callers {
        let service = service.clone();
        tasks.spawn(async move {
            let mut ended = 0_u64;
            while Instant::now() < to {
                service.handle().await;
                let now = Instant::now();
                ended += u64::from(now >= from && now < to);
            }
            ended
        });
    }
    let ended: u64 = tasks.join_all().await.into_iter().sum();
    ended as f64 / span.as_secs_f64()
}
