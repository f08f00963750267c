//! What all requests of a run share, and what is done with each.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::error::Error;
use crate::latency::Percentiles;
use crate::ledger::Ledger;
use crate::outcome::{Outcome, Settled};
use crate::plan::{Call, Plan};
use crate::report::{Generator, LAG_WARNING_MS, Report};
use crate::request::Requests;
use crate::schedule::Arrival;
use crate::wire::{Dialer, Wire};

/// What all requests share.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) plan: Plan,
    wire: Wire,
    requests: Requests,
    pub(super) ledger: Mutex<Ledger>,
    /// One permit a request that may be under way.
    places: Arc<Semaphore>,
    pub(super) started: Instant,
    started_at: jiff::Timestamp,
}

impl Bench {
    pub(super) async fn set_up(plan: Plan) -> Result<Arc<Self>, Error> {
        let dialer = Dialer::new(&plan)?;
        let connected = Wire::connect(&plan, dialer.clone()).await;
        let wire = connected.map_err(|broken| broken.at_start(&plan.target.origin()))?;
        let requests = Requests::prepare(&plan, &dialer, wire.is_http2()).await?;
        Ok(Arc::new(Self {
            ledger: Mutex::new(Ledger::new(&plan)),
            places: Arc::new(Semaphore::new(plan.max_in_flight)),
            started: Instant::now(),
            started_at: jiff::Timestamp::now(),
            plan,
            wire,
            requests,
        }))
    }

    pub(super) fn planned(&self) -> Duration {
        self.plan.phases.iter().map(|phase| phase.lasts).sum()
    }

    /// Ready once no request is under way.
    pub(super) async fn all_ended(&self) {
        let all = u32::try_from(self.plan.max_in_flight).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let _ = self.places.acquire_many(all).await;
    }

    /// A request is due: starts it, or counts it as not started.
    pub(super) fn start(self: &Arc<Self>, arrival: Arrival) {
        let place = self.place(&arrival);
        let mut ledger = self.ledger.lock();
        ledger.offer(&arrival);
        match place {
            Err(why) => {
                let settled = Settled::new(Outcome::NotStarted, why);
                ledger.settle(&arrival, &settled, Duration::ZERO);
            }
            Ok(place) => {
                ledger.note_in_flight();
                drop(ledger);
                let bench = self.clone();
                tokio::spawn(async move { bench.perform(arrival, place).await });
            }
        }
    }

    /// Sends a request and keeps the books, from its intended start.
    async fn perform(&self, arrival: Arrival, _place: OwnedSemaphorePermit) {
        let intended = self.started + arrival.at;
        let deadline = intended + self.plan.timeout;
        let now = Instant::now();
        let lag = now.saturating_duration_since(intended);
        let request = self.requests.build(&arrival, deadline.saturating_duration_since(now));
        let settled = match timeout_at(deadline, self.wire.call(request)).await {
            Ok(Ok(answer)) => self.requests.judge(&answer),
            Ok(Err(broken)) => Settled::new(Outcome::Failed, broken.why),
            Err(_) => Settled::new(Outcome::TimedOut, "no answer within the timeout"),
        };
        let mut ledger = self.ledger.lock();
        ledger.start(lag);
        ledger.settle(&arrival, &settled, intended.elapsed());
    }

    /// Why a request that is due cannot be started, if so.
    fn place(&self, arrival: &Arrival) -> Result<OwnedSemaphorePermit, &'static str> {
        if self.started.elapsed() > arrival.at + self.plan.timeout {
            return Err("the generator was later than the timeout");
        }
        self.places.clone().try_acquire_owned().map_err(|_| "too many in flight")
    }

    pub(super) fn report(&self, ran: Duration, interrupted: bool) -> Report {
        let plan = &self.plan;
        let waits = self.wire.waits();
        let ledger = std::mem::replace(&mut *self.ledger.lock(), Ledger::new(plan));
        Report {
            target: plan.target.to_string(),
            protocol: self.protocol(),
            started_at: self.started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            arrivals: format!("{:?}", plan.arrivals).to_lowercase(),
            seed: plan.seed,
            planned_s: self.planned().as_secs_f64(),
            ran_s: ran.as_secs_f64(),
            interrupted,
            generator: Generator {
                lag: ledger.lag().percentiles(),
                connection_wait: waits,
                most_in_flight: ledger.most_in_flight(),
                warnings: warnings(&ledger, plan, ran, waits),
            },
            total: ledger.total(ran),
            steps: ledger.steps(plan, ran),
            callers: ledger.callers(plan, ran),
            levels: ledger.levels(plan, ran),
            refusals: ledger.refusals().sorted(),
            failures: ledger.failures().sorted(),
            seconds: ledger.into_seconds(),
        }
    }

    fn protocol(&self) -> String {
        match &self.plan.call {
            Call::Grpc { method, .. } => format!("gRPC {method}"),
            Call::Http { .. } if self.wire.is_http2() => "HTTP/2".to_owned(),
            Call::Http { .. } => "HTTP/1.1".to_owned(),
        }
    }
}

fn warnings(
    ledger: &Ledger,
    plan: &Plan,
    ran: Duration,
    waits: Option<Percentiles>,
) -> Vec<String> {
    let counts = ledger.total(ran).counts;
    let late = ledger.lag().at(99.0).filter(|lag| *lag > LAG_WARNING_MS).map(|lag| {
        format!(
            "the generator was the bottleneck: one request in 100 started {lag:.1} ms late or \
             later (more than {LAG_WARNING_MS} ms); give it a lower rate or more cores"
        )
    });
    let waited = waits.map(|waits| waits.p99_ms).filter(|wait| *wait > LAG_WARNING_MS);
    let queued = waited.map(|wait| {
        format!(
            "the generator was the queue: one request in 100 waited {wait:.0} ms or longer while \
             all connections were busy, and the service never saw it wait; raise --connections, \
             or use --http2"
        )
    });
    let skipped = (counts.not_started > 0).then(|| {
        format!(
            "{} requests were not started, so the load was less than planned; at most {} may be \
             in flight (--max-in-flight)",
            counts.not_started, plan.max_in_flight
        )
    });
    let nothing = (counts.offered > 0 && counts.ok == 0).then(|| "no request was ok".to_owned());
    [late, queued, skipped, nothing].into_iter().flatten().collect()
}
