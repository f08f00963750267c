//! Walks over everything that is counted, metric by metric.

use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_shedding::Criticality;
use plimsoll_shedding::state::State;

use super::names::{self, Metric};
use crate::figures::{EndpointFigures, Event, Histogram, LaneFigures};
use crate::gate::QueueStatus;
use crate::layer::protection::Protection;

/// What a sample says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Counter(u64),
    Gauge(f64),
    #[cfg_attr(not(feature = "prometheus"), expect(dead_code, reason = "only read at a scrape"))]
    Histogram(&'a Histogram),
}

/// A sample: its labels and its value.
pub(super) type Sample<'a> = (Vec<(&'static str, &'a str)>, Value<'a>);

/// Where metrics go. Every metric is given once, with all its samples.
pub(super) trait Sink {
    type Error;

    fn metric(&mut self, metric: Metric, samples: &[Sample<'_>]) -> Result<(), Self::Error>;
}

/// Gives every metric to the sink.
pub(super) fn walk<S: Sink>(protection: &Protection, sink: &mut S) -> Result<(), S::Error> {
    requests(&protection.registry.figures.lanes(), sink)?;
    endpoints(&protection.registry.figures.endpoints(), sink)?;
    queues(&protection.gate.queues(), sink)?;
    headers(protection, sink)?;
    policy(protection, sink)
}

fn requests<S: Sink>(lanes: &[std::sync::Arc<LaneFigures>], sink: &mut S) -> Result<(), S::Error> {
    let (mut requests, mut would) = (Vec::new(), Vec::new());
    for lane in lanes {
        for (level, event, count) in lane.counts() {
            let mut labels = vec![
                ("endpoint", &*lane.endpoint),
                ("caller", &*lane.caller),
                ("level", digit(level)),
                ("reason", event.reason()),
            ];
            if matches!(event, Event::WouldRefuse(_)) {
                would.push((labels, Value::Counter(count)));
            } else {
                labels.push(("verdict", event.verdict()));
                requests.push((labels, Value::Counter(count)));
            }
        }
    }
    sink.metric(names::REQUESTS, &requests)?;
    sink.metric(names::WOULD_BE_SHED, &would)
}

fn endpoints<S: Sink>(
    all: &[std::sync::Arc<EndpointFigures>],
    sink: &mut S,
) -> Result<(), S::Error> {
    let count = |it: &AtomicU64| Value::Counter(it.load(Ordering::Relaxed));
    let mut each = |metric, value: &dyn for<'a> Fn(&'a EndpointFigures) -> Value<'a>| {
        let samples: Vec<Sample<'_>> =
            all.iter().map(|it| (vec![("endpoint", &*it.name)], value(it))).collect();
        sink.metric(metric, &samples)
    };
    each(names::BYPASSED, &|it| count(&it.bypassed))?;
    each(names::LEFT, &|it| count(&it.left))?;
    each(names::QUEUE_WAIT, &|it| Value::Histogram(&it.queue_wait))?;
    each(names::HANDLING, &|it| Value::Histogram(&it.handling))
}

fn queues<S: Sink>(all: &[QueueStatus], sink: &mut S) -> Result<(), S::Error> {
    let mut each = |metric, value: &dyn Fn(&QueueStatus) -> f64| {
        let samples: Vec<Sample<'_>> =
            all.iter().map(|it| (vec![("queue", &*it.name)], Value::Gauge(value(it)))).collect();
        sink.metric(metric, &samples)
    };
    each(names::STATE, &|it| state(it.view.state))?;
    each(names::LIMIT, &|it| f64::from(it.view.limit))?;
    each(names::INFLIGHT, &|it| f64::from(it.view.inflight))?;
    each(names::MIN_WAIT, &|it| it.view.min_wait.as_secs_f64())?;
    let waiting = |it: &QueueStatus, level: Criticality| {
        Value::Gauge(f64::from(it.view.waiting[level.index()]))
    };
    let lengths: Vec<Sample<'_>> = all
        .iter()
        .flat_map(|it| {
            Criticality::ALL.map(|level| {
                (vec![("queue", &*it.name), ("level", digit(level))], waiting(it, level))
            })
        })
        .collect();
    sink.metric(names::QUEUE_LENGTH, &lengths)
}

fn headers<S: Sink>(protection: &Protection, sink: &mut S) -> Result<(), S::Error> {
    let counts = protection.bad_headers.counts();
    let samples = counts.map(|(header, count)| (vec![("header", header)], Value::Counter(count)));
    sink.metric(names::BAD_HEADERS, &samples)
}

fn policy<S: Sink>(protection: &Protection, sink: &mut S) -> Result<(), S::Error> {
    #[cfg(feature = "policy-sync")]
    if let Some(status) = protection.policy.server_status() {
        let in_force = InForce {
            version: &status.version,
            loads: status.loads,
            errors: status.errors,
            in_trouble: status.refused.is_some(),
        };
        in_force.walk(sink)?;
        return server(&status, sink);
    }
    #[cfg(feature = "policy-file")]
    if let Some(status) = protection.policy.file_status() {
        let in_force = InForce {
            version: &status.version,
            loads: status.loads,
            errors: status.errors,
            in_trouble: status.trouble.is_some(),
        };
        in_force.walk(sink)?;
    }
    let _ = (protection, sink);
    Ok(())
}

/// What is told of a policy wherever it comes from.
#[cfg(feature = "policy-file")]
struct InForce<'a> {
    version: &'a str,
    loads: u64,
    errors: u64,
    in_trouble: bool,
}

#[cfg(feature = "policy-file")]
impl InForce<'_> {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let version = vec![("version", self.version)];
        sink.metric(names::POLICY_INFO, &[(version, Value::Gauge(1.0))])?;
        sink.metric(names::POLICY_LOADS, &[(Vec::new(), Value::Counter(self.loads))])?;
        sink.metric(names::POLICY_ERRORS, &[(Vec::new(), Value::Counter(self.errors))])?;
        let trouble = Value::Gauge(f64::from(u8::from(self.in_trouble)));
        sink.metric(names::POLICY_IN_TROUBLE, &[(Vec::new(), trouble)])
    }
}

#[cfg(feature = "policy-sync")]
fn server<S: Sink>(status: &crate::policy_server::Status, sink: &mut S) -> Result<(), S::Error> {
    let mut one = |metric, value| sink.metric(metric, &[(Vec::new(), value)]);
    let truth = |it: bool| Value::Gauge(f64::from(u8::from(it)));
    let age = status.applied_at.elapsed().unwrap_or_default();
    one(names::POLICY_CONNECTED, truth(status.server.is_some()))?;
    one(names::POLICY_REVISION, Value::Gauge(status.revision as f64))?;
    one(names::POLICY_AGE, Value::Gauge(age.as_secs_f64()))?;
    one(names::POLICY_OBSERVATIONS, Value::Counter(status.observations))?;
    one(names::POLICY_LEFT_OUT, Value::Counter(status.left_out))?;
    status.is_kept.map_or(Ok(()), |is_kept| one(names::POLICY_KEPT, truth(is_kept)))
}

fn state(state: State) -> f64 {
    State::ALL.iter().take_while(|it| **it != state).count() as f64
}

fn digit(level: Criticality) -> &'static str {
    match level {
        Criticality::Infrastructure => "1",
        Criticality::CoreFlow => "2",
        Criticality::Feature => "3",
        Criticality::Internal => "4",
    }
}
