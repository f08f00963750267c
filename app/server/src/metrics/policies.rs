//! Figures of policies and of the instances that follow them.

use std::time::Duration;

use plimsoll_telemetry::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{Open, add};

/// Upper bounds in seconds: a push takes milliseconds, and one that takes longer than a
/// second is to be seen.
const BUCKETS: [f64; 12] =
    [1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Figures of policies.
#[derive(Clone, Debug)]
pub struct PolicyMetrics {
    services: Gauge,
    instances: Gauge,
    saves: Counter,
    conflicts: Counter,
    pushes: Counter,
    apply: Histogram,
    refused: Counter,
    dropped: Counter,
}

impl Default for PolicyMetrics {
    fn default() -> Self {
        Self {
            services: Gauge::default(),
            instances: Gauge::default(),
            saves: Counter::default(),
            conflicts: Counter::default(),
            pushes: Counter::default(),
            apply: Histogram::new(BUCKETS),
            refused: Counter::default(),
            dropped: Counter::default(),
        }
    }
}

impl PolicyMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        add(registry, names::POLICY_SERVICES, &self.services);
        add(registry, names::POLICY_INSTANCES, &self.instances);
        add(registry, names::POLICY_SAVES, &self.saves);
        add(registry, names::POLICY_CONFLICTS, &self.conflicts);
        add(registry, names::POLICY_PUSHES, &self.pushes);
        add(registry, names::POLICY_APPLY, &self.apply);
        add(registry, names::POLICY_REFUSED, &self.refused);
        add(registry, names::POLICY_OBSERVATIONS_DROPPED, &self.dropped);
    }

    /// So many services have a policy.
    pub fn services(&self, count: usize) {
        self.services.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// An instance is connected until the answer is dropped.
    pub fn instance(&self) -> Open {
        Open::new(self.instances.clone())
    }

    /// A revision was stored.
    pub fn saved(&self) {
        self.saves.inc();
    }

    /// Somebody else had saved in between.
    pub fn conflicted(&self) {
        self.conflicts.inc();
    }

    /// A policy was sent to an instance.
    pub fn pushed(&self) {
        self.pushes.inc();
    }

    /// A policy that was pushed holds, so long after it was saved.
    pub fn applied(&self, after: Duration) {
        self.apply.observe(after.as_secs_f64());
    }

    /// An instance could not apply what it was sent.
    pub fn refused(&self) {
        self.refused.inc();
    }

    /// An observation was passed over.
    pub fn dropped(&self) {
        self.dropped.inc();
    }
}
