//! The server's metrics, in one registry that belongs to the server: two servers
//! in one process do not share figures.

mod policies;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_ownership::event::What;
use plimsoll_ownership::namespace::Namespace;
use plimsoll_placement::time::Time;
use plimsoll_telemetry::names::{self, Metric};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric as Registered, Registry};

pub use policies::PolicyMetrics;

type FloatGauge = Gauge<f64, AtomicU64>;
type FloatCounter = Counter<f64, AtomicU64>;

/// Upper bounds of latency buckets, in seconds: from a lookup in memory to a
/// deadline of ten seconds.
const LATENCY_BUCKETS: [f64; 14] =
    [50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.5, 2.0, 10.0];

/// What an executor may be.
const STATUSES: [&str; 4] = ["active", "leaving", "drained", "silent"];

/// Every operation of both wires that is counted.
const OPERATIONS: [&str; 37] = [
    "Beat",
    "CreateNamespace",
    "DeleteNamespace",
    "DescribeNamespace",
    "DrainHosts",
    "DrainShards",
    "ExplainShard",
    "ForceResetNamespace",
    "FreezeBalance",
    "GetDrainedHosts",
    "GetDrainedShards",
    "GetExecutorState",
    "GetFullNamespaceState",
    "GetLoads",
    "GetNamespaceLoads",
    "GetNamespaceState",
    "GetPolicy",
    "GetShardOwner",
    "GetTraffic",
    "Heartbeat",
    "Hello",
    "History",
    "InspectShard",
    "ListDrains",
    "ListNamespaces",
    "ListServices",
    "Lookup",
    "Observed",
    "PlanBalance",
    "PolicyHistory",
    "PreviewPolicy",
    "ResumeBalance",
    "SetPolicy",
    "TakeOver",
    "UndrainHosts",
    "UndrainShards",
    "UpdateSettings",
];

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfNamespace {
    namespace: Arc<str>,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfStatus {
    namespace: Arc<str>,
    status: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfEvent {
    namespace: Arc<str>,
    event: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfOperation {
    operation: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfFailure {
    operation: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfWire {
    wire: &'static str,
}

/// Every metric of one server.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    operations: Arc<HashMap<&'static str, Operation>>,
    failures: Family<OfFailure, Counter>,
    sessions: Gauge,
    watches: Family<OfWire, Gauge>,
    executors: Family<OfStatus, Gauge>,
    events: Family<OfEvent, Counter>,
    gauges: Gauges,
    counters: Counters,
    cluster: Cluster,
    /// Of policies and the instances that follow them.
    pub policies: PolicyMetrics,
}

/// Figures of one of several servers.
#[derive(Clone, Debug, Default)]
struct Cluster {
    leader_changes: Family<OfNamespace, Counter>,
    replica_age: Family<OfNamespace, FloatGauge>,
    confidence: FloatGauge,
    forwarded: Counter,
    store_failures: Counter,
}

/// What is counted of one operation.
#[derive(Clone, Debug)]
struct Operation {
    requests: Counter,
    latency: Histogram,
}

/// Figures of namespaces that go up and down.
#[derive(Clone, Debug, Default)]
struct Gauges {
    active_shards: Family<OfNamespace, Gauge>,
    heartbeat_lag: Family<OfNamespace, Gauge>,
    is_leader: Family<OfNamespace, Gauge>,
    leader: Family<OfNamespace, Gauge>,
    max_over_mean: Family<OfNamespace, FloatGauge>,
    spread: Family<OfNamespace, FloatGauge>,
    missing_ratio: Family<OfNamespace, FloatGauge>,
    drained_shards: Family<OfNamespace, Gauge>,
    drained_hosts: Family<OfNamespace, Gauge>,
    unowned: Family<OfNamespace, Gauge>,
    in_handover: Family<OfNamespace, Gauge>,
    frozen: Family<OfNamespace, Gauge>,
    store_failing: Family<OfNamespace, Gauge>,
}

/// Figures of namespaces that only grow.
#[derive(Clone, Debug, Default)]
struct Counters {
    balance_moves: Family<OfNamespace, Counter>,
    moved_load: Family<OfNamespace, FloatCounter>,
    moves: Family<OfNamespace, Counter>,
    deleted: Family<OfNamespace, Counter>,
    cycles: Family<OfNamespace, Counter>,
    contested: Family<OfNamespace, Counter>,
}

/// The metrics of one namespace.
#[derive(Clone, Debug)]
pub struct NamespaceMetrics {
    all: Metrics,
    namespace: Arc<str>,
    events: Vec<Counter>,
}

/// Counts something as open until it is dropped.
#[derive(Debug)]
pub struct Open(Gauge);

impl Metrics {
    /// A registry with everything in it.
    pub fn new() -> Self {
        let registry: Arc<Mutex<Registry>> = Arc::default();
        let operations = Arc::new(register_operations(&mut registry.lock()));
        let metrics = Self {
            registry,
            operations,
            failures: Family::default(),
            sessions: Gauge::default(),
            watches: Family::default(),
            executors: Family::default(),
            events: Family::default(),
            gauges: Gauges::default(),
            counters: Counters::default(),
            cluster: Cluster::default(),
            policies: PolicyMetrics::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&self) {
        let registry = &mut *self.registry.lock();
        add(registry, names::FAILURES, &self.failures);
        add(registry, names::SESSIONS, &self.sessions);
        add(registry, names::WATCHES, &self.watches);
        add(registry, names::TOTAL_EXECUTORS, &self.executors);
        add(registry, names::EVENTS, &self.events);
        self.gauges.register(registry);
        self.counters.register(registry);
        self.cluster.register(registry);
        self.policies.register(registry);
    }

    /// The metrics of one namespace.
    pub fn of_namespace(&self, namespace: &Arc<str>) -> NamespaceMetrics {
        let event = |what: What| OfEvent { namespace: namespace.clone(), event: what.as_str() };
        let events = What::ALL.map(|what| self.events.get_or_create(&event(what)).clone()).into();
        NamespaceMetrics { all: self.clone(), namespace: namespace.clone(), events }
    }

    /// A request was answered: `code` is `None` if all went well.
    pub fn answered(&self, operation: &'static str, took: Duration, code: Option<&'static str>) {
        if let Some(counted) = self.operations.get(operation) {
            counted.requests.inc();
            counted.latency.observe(took.as_secs_f64());
        }
        if let Some(code) = code {
            self.failures.get_or_create(&OfFailure { operation, code }).inc();
        }
    }

    /// A message came in on a session.
    pub fn received(&self, operation: &'static str) {
        if let Some(counted) = self.operations.get(operation) {
            counted.requests.inc();
        }
    }

    /// A session is open until the answer is dropped.
    pub fn session(&self) -> Open {
        Open::new(self.sessions.clone())
    }

    /// A watch is open until the answer is dropped.
    pub fn watch(&self, wire: &'static str) -> Open {
        Open::new(self.watches.get_or_create(&OfWire { wire }).clone())
    }

    /// A call was passed on to a leader.
    pub fn forwarded(&self) {
        self.cluster.forwarded.inc();
    }

    /// The store did not answer, or refused.
    pub fn store_failed(&self) {
        self.cluster.store_failures.inc();
    }

    /// Another server leads the namespace now.
    pub fn leader_changed(&self, namespace: &Arc<str>) {
        let of = OfNamespace { namespace: namespace.clone() };
        self.cluster.leader_changes.get_or_create(&of).inc();
    }

    /// How long ago its leader confirmed the map; `None`: it is led here.
    pub fn replica_age(&self, namespace: &Arc<str>, age: Option<Duration>) {
        let of = OfNamespace { namespace: namespace.clone() };
        match age {
            Some(age) => drop(self.cluster.replica_age.get_or_create(&of).set(age.as_secs_f64())),
            None => drop(self.cluster.replica_age.remove(&of)),
        }
    }

    /// For how long this server is sure of all that it leads.
    pub fn confidence(&self, left: Duration) {
        self.cluster.confidence.set(left.as_secs_f64());
    }

    /// Whether the last change of a namespace could not be stored.
    pub fn is_store_failing(&self, namespace: &Arc<str>) -> bool {
        let of = OfNamespace { namespace: namespace.clone() };
        self.gauges.store_failing.get(&of).is_some_and(|failing| failing.get() > 0)
    }

    /// Everything in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry.lock());
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Cluster {
    fn register(&self, registry: &mut Registry) {
        add(registry, names::LEADER_CHANGES, &self.leader_changes);
        add(registry, names::REPLICA_AGE, &self.replica_age);
        add(registry, names::CONFIDENCE, &self.confidence);
        add(registry, names::FORWARDED, &self.forwarded);
        add(registry, names::STORE_FAILURES, &self.store_failures);
    }
}

impl Gauges {
    fn forget(&self, of: &OfNamespace) {
        self.active_shards.remove(of);
        self.heartbeat_lag.remove(of);
        self.is_leader.remove(of);
        self.leader.remove(of);
        self.max_over_mean.remove(of);
        self.spread.remove(of);
        self.missing_ratio.remove(of);
        self.drained_shards.remove(of);
        self.drained_hosts.remove(of);
        self.unowned.remove(of);
        self.in_handover.remove(of);
        self.frozen.remove(of);
        self.store_failing.remove(of);
    }

    fn register(&self, registry: &mut Registry) {
        add(registry, names::ACTIVE_SHARDS, &self.active_shards);
        add(registry, names::OLDEST_HEARTBEAT_LAG, &self.heartbeat_lag);
        add(registry, names::IS_LEADER, &self.is_leader);
        add(registry, names::LEADER, &self.leader);
        add(registry, names::LOAD_MAX_OVER_MEAN, &self.max_over_mean);
        add(registry, names::LOAD_CV, &self.spread);
        add(registry, names::LOAD_MISSING_RATIO, &self.missing_ratio);
        add(registry, names::DRAINED_SHARDS, &self.drained_shards);
        add(registry, names::DRAINED_HOSTS, &self.drained_hosts);
        add(registry, names::UNOWNED_SHARDS, &self.unowned);
        add(registry, names::SHARDS_IN_HANDOVER, &self.in_handover);
        add(registry, names::FROZEN, &self.frozen);
        add(registry, names::STORE_FAILING, &self.store_failing);
    }

    fn set(&self, now: Time, of: &OfNamespace, namespace: &Namespace) {
        let (census, balance) = (namespace.census(), namespace.balance(now));
        let owned = census.shards - census.unowned - census.in_handover;
        set(&self.active_shards, of, owned);
        set(&self.is_leader, of, 1);
        set(&self.leader, of, 1);
        set(&self.drained_shards, of, namespace.drained_shards().len());
        set(&self.drained_hosts, of, namespace.drained_hosts().len());
        set(&self.unowned, of, census.unowned);
        set(&self.in_handover, of, census.in_handover);
        set(&self.frozen, of, usize::from(namespace.is_frozen()));
        self.max_over_mean.get_or_create(of).set(balance.max_over_mean());
        self.spread.get_or_create(of).set(balance.spread);
        self.missing_ratio.get_or_create(of).set(1.0 - balance.measured);
        let lag = namespace.executors().iter().map(|e| now - e.last_heard).max();
        set(&self.heartbeat_lag, of, lag.unwrap_or_default().as_millis() as usize);
    }
}

impl Counters {
    fn forget(&self, of: &OfNamespace) {
        self.balance_moves.remove(of);
        self.moved_load.remove(of);
        self.moves.remove(of);
        self.deleted.remove(of);
        self.cycles.remove(of);
        self.contested.remove(of);
    }

    fn register(&self, registry: &mut Registry) {
        add(registry, names::LOAD_BASED_MOVES, &self.balance_moves);
        add(registry, names::MOVED_LOAD, &self.moved_load);
        add(registry, names::REASSIGNED_SHARDS, &self.moves);
        add(registry, names::DELETED_SHARDS, &self.deleted);
        add(registry, names::ASSIGN_ATTEMPTS, &self.cycles);
        add(registry, names::CONTESTED_REPORTS, &self.contested);
    }

    fn set(&self, of: &OfNamespace, namespace: &Namespace) {
        let stats = namespace.stats();
        raise(&self.balance_moves, of, stats.balance_moves);
        raise(&self.moves, of, stats.moves);
        raise(&self.deleted, of, stats.of(What::Done));
        raise(&self.cycles, of, stats.cycles);
        raise(&self.contested, of, stats.contested);
        let moved = self.moved_load.get_or_create(of);
        moved.inc_by((stats.balance_moved_load - moved.get()).max(0.0));
    }
}

impl NamespaceMetrics {
    /// Something happened.
    pub fn count(&self, what: What) {
        if let Some(counter) = self.events.get(what as usize) {
            counter.inc();
        }
    }

    /// Whether changes can be stored.
    pub fn store_failing(&self, failing: bool) {
        let of = OfNamespace { namespace: self.namespace.clone() };
        set(&self.all.gauges.store_failing, &of, usize::from(failing));
    }

    /// Brings the gauges up to date.
    pub fn observe(&self, now: Time, namespace: &Namespace) {
        let of = OfNamespace { namespace: self.namespace.clone() };
        self.all.gauges.set(now, &of, namespace);
        self.all.counters.set(&of, namespace);
        let executors = namespace.executors();
        for status in STATUSES {
            let of = OfStatus { namespace: self.namespace.clone(), status };
            let count = executors.iter().filter(|executor| executor.status == status).count();
            set(&self.all.executors, &of, count);
        }
    }

    /// The namespace is led here no more: its figures vanish.
    pub fn forget(&self) {
        let of = OfNamespace { namespace: self.namespace.clone() };
        self.all.gauges.forget(&of);
        self.all.counters.forget(&of);
        for status in STATUSES {
            let namespace = self.namespace.clone();
            self.all.executors.remove(&OfStatus { namespace, status });
        }
        for what in What::ALL {
            let (namespace, event) = (self.namespace.clone(), what.as_str());
            self.all.events.remove(&OfEvent { namespace, event });
        }
    }
}

impl Open {
    fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Handles to every operation, so that counting one looks nothing up under a
/// lock.
fn register_operations(registry: &mut Registry) -> HashMap<&'static str, Operation> {
    let requests = Family::<OfOperation, Counter>::default();
    let histogram: fn() -> Histogram = || Histogram::new(LATENCY_BUCKETS);
    let latency = Family::<OfOperation, Histogram, _>::new_with_constructor(histogram);
    add(registry, names::REQUESTS, &requests);
    add(registry, names::LATENCY, &latency);
    let handles = OPERATIONS.map(|operation| {
        let of = OfOperation { operation };
        let requests = requests.get_or_create(&of).clone();
        let latency = latency.get_or_create(&of).clone();
        (operation, Operation { requests, latency })
    });
    handles.into_iter().collect()
}

fn add(registry: &mut Registry, metric: Metric, value: &(impl Registered + Clone)) {
    registry.register(metric.name, metric.help, value.clone());
}

fn set<L>(family: &Family<L, Gauge>, of: &L, value: usize)
where
    L: Clone + std::hash::Hash + Eq,
{
    family.get_or_create(of).set(i64::try_from(value).unwrap_or(i64::MAX));
}

fn raise(family: &Family<OfNamespace, Counter>, of: &OfNamespace, value: u64) {
    let counter = family.get_or_create(of);
    counter.inc_by(value.saturating_sub(counter.get()));
}
