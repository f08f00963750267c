//! What was counted since the last look, by difference: requests pay nothing for
//! it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_shedding::Criticality;
use plimsoll_shedding::policy::{Class, Policy, Source};
use plimsoll_shedding::verdict::Reason;
use plimsoll_wire::v1::{Observation, QueueState, Traffic};
use tokio::time::Instant;

use super::observation::{Buckets, Counts, OTHERS, Row, bounded, percentile, since};
use crate::callers::Told;
use crate::figures::{EndpointFigures, Event, LaneFigures};
use crate::gate::QueueStatus;
use crate::layer::directory::Directory;
use crate::layer::protection::Protection;

/// Queues in an observation at most.
const MAX_QUEUES: usize = 64;
const LEVELS: usize = Criticality::ALL.len();

/// What was counted by the last look.
#[derive(Debug)]
pub(super) struct Observer {
    at: Instant,
    /// By endpoint and caller's label.
    lanes: BTreeMap<(Arc<str>, Arc<str>), [Counts; LEVELS]>,
    endpoints: BTreeMap<Arc<str>, Spans<Buckets>>,
}

/// Of one endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct Spans<T> {
    queue_wait: T,
    handling: T,
}

impl Observer {
    /// Counts from now on.
    pub(super) fn new(layer: &Protection, now: Instant) -> Self {
        let mut observer = Self { at: now, lanes: BTreeMap::new(), endpoints: BTreeMap::new() };
        observer.observe(layer, now);
        observer
    }

    /// What was counted since the last look.
    pub(super) fn observe(&mut self, layer: &Protection, now: Instant) -> Observation {
        let over = now.saturating_duration_since(std::mem::replace(&mut self.at, now));
        let figures = &layer.registry.figures;
        let spans: BTreeMap<Arc<str>, Spans<Buckets>> =
            figures.endpoints().iter().map(|it| (Arc::clone(&it.name), self.spans(it))).collect();
        let directory = layer.registry.directory();
        let rows =
            figures.lanes().iter().flat_map(|lane| self.rows(lane, layer, &directory)).collect();
        let traffic = |row: Row| {
            let spans = spans.get(&row.endpoint).copied().unwrap_or_default();
            traffic(&row, &spans)
        };
        Observation {
            over: span(Some(over)),
            traffic: bounded(rows).into_iter().map(traffic).collect(),
            queues: queues(layer.gate.queues()),
        }
    }

    fn spans(&mut self, it: &EndpointFigures) -> Spans<Buckets> {
        let known = self.endpoints.entry(Arc::clone(&it.name)).or_default();
        let (waits, queue_wait) = since(&it.queue_wait, &known.queue_wait);
        let (handlings, handling) = since(&it.handling, &known.handling);
        *known = Spans { queue_wait: waits, handling: handlings };
        Spans { queue_wait, handling }
    }

    /// One a level that has had requests.
    fn rows(&mut self, lane: &LaneFigures, layer: &Protection, now: &Directory) -> Vec<Row> {
        let key = (Arc::clone(&lane.endpoint), Arc::clone(&lane.caller));
        let counts = counts(lane);
        let before = self.lanes.insert(key, counts).unwrap_or_default();
        let new = Criticality::ALL.map(|level| counts[level.index()].since(before[level.index()]));
        if new == [Counts::default(); LEVELS] {
            return Vec::new();
        }
        let told = layer.registry.callers.told(&lane.caller);
        let endpoint = now.by_name.get(&lane.endpoint);
        let class = |caller: Option<&str>| endpoint.map(|it| it.classify(caller));
        let row = |(level, counts): (Criticality, Counts)| Row {
            endpoint: Arc::clone(&lane.endpoint),
            caller: match told {
                Told::Unnamed => Arc::from(""),
                Told::Named => Arc::clone(&lane.caller),
                Told::Others => Arc::from(OTHERS),
            },
            level: level.level(),
            rule: match told {
                Told::Unnamed => rule(now.policy.policy(), class(None), level),
                Told::Named => rule(now.policy.policy(), class(Some(&*lane.caller)), level),
                Told::Others => of_others(now.policy.policy(), class(None), level),
            },
            counts,
        };
        let new = Criticality::ALL.into_iter().zip(new);
        new.filter(|(_, counts)| *counts != Counts::default()).map(row).collect()
    }
}

fn counts(lane: &LaneFigures) -> [Counts; LEVELS] {
    let mut all = [Counts::default(); LEVELS];
    for (level, event, count) in lane.counts() {
        let sums = &mut all[level.index()];
        match event {
            Event::Admitted => sums.admitted += count,
            Event::WouldRefuse(_) => sums.would_shed += count,
            Event::Refused(Reason::Expired) => sums.expired += count,
            Event::Refused(_) => sums.shed += count,
        }
    }
    all
}

/// What gave a request its level.
fn rule(policy: &Policy, class: Option<Class>, level: Criticality) -> &'static str {
    let Some(class) = class else { return "default" };
    if level > class.level {
        return "header";
    }
    let Source::Rule(index) = class.level_by else { return "default" };
    let Some(rule) = policy.rules.get(index.0 as usize) else { return "default" };
    match (&rule.endpoint, &rule.caller) {
        (Some(_), Some(_)) => "endpoint and caller",
        (None, Some(_)) => "caller",
        (_, None) => "endpoint",
    }
}

/// Of callers who share one count: what is not as it is for a nameless one came by
/// their names or from themselves, and which is not known.
fn of_others(policy: &Policy, nameless: Option<Class>, level: Criticality) -> &'static str {
    if nameless.is_some_and(|class| class.level != level) {
        return "caller";
    }
    rule(policy, nameless, level)
}

fn traffic(row: &Row, spans: &Spans<Buckets>) -> Traffic {
    let Counts { admitted, shed, expired, would_shed } = row.counts;
    Traffic {
        endpoint: row.endpoint.to_string(),
        caller: row.caller.to_string(),
        level: row.level.into(),
        rule: row.rule.to_owned(),
        admitted,
        shed,
        expired,
        would_shed,
        queue_wait_p50: span(percentile(&spans.queue_wait, 0.5)),
        queue_wait_p99: span(percentile(&spans.queue_wait, 0.99)),
        handling_p50: span(percentile(&spans.handling, 0.5)),
        handling_p99: span(percentile(&spans.handling, 0.99)),
    }
}

/// The fullest.
fn queues(mut all: Vec<QueueStatus>) -> Vec<QueueState> {
    let held = |it: &QueueStatus| it.view.waiting.iter().sum::<u32>() + it.view.inflight;
    if all.len() > MAX_QUEUES {
        all.sort_by_key(|queue| std::cmp::Reverse(held(queue)));
        all.truncate(MAX_QUEUES);
    }
    all.iter().map(queue).collect()
}

fn queue(it: &QueueStatus) -> QueueState {
    let view = &it.view;
    QueueState {
        group: it.name.to_string(),
        state: view.state.as_str().to_owned(),
        limit: view.limit,
        in_flight: view.inflight,
        queued: view.waiting.iter().sum(),
        target: span(Some(view.target)),
        queue_wait: span(Some(view.min_wait)),
        admits_level: view.admitted_level.map_or(0, |level| level.level().into()),
    }
}

fn span(span: Option<Duration>) -> Option<prost_types::Duration> {
    prost_types::Duration::try_from(span?).ok()
}
