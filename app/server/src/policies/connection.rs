//! One instance that is connected: what it is to be told, and what it tells.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_placement::time::Time;
use plimsoll_shedding::traffic::{Figures, Row};
use plimsoll_wire::v1;
use plimsoll_wire::v1::sync_response::Message as ToInstance;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::known::{Held, Instance, Known};
use super::{Fault, MAX_OBSERVED_BYTES, MAX_SERVICES, OBSERVE_EVERY, Policies, checks, wire};
use crate::metrics::Open;

/// Observations that come faster are passed over.
const LEAST_BETWEEN: Duration = Duration::from_secs(1);
/// An observation is counted in the slice of its middle; it cannot be older than this.
const LONGEST_OBSERVED: Duration = Duration::from_secs(60);
/// A push that took longer was not waited for: the instance was away.
const PUSH_WITHIN: Duration = Duration::from_secs(60);

/// What an instance has, as far as it was told or says.
#[derive(Debug, Default)]
struct Told {
    revision: u64,
    /// Empty: it did not say.
    version: String,
    /// It has heard that there is no policy.
    nothing: bool,
}

impl Told {
    fn lacks(&self, held: &Held) -> bool {
        match held {
            Held::Unread => false,
            Held::Nothing => !self.nothing,
            Held::Policy { record, version } => {
                let is_same = self.version.is_empty() || *self.version == **version;
                self.revision != record.head.revision || !is_same
            }
        }
    }

    fn of(held: &Held) -> Self {
        match held {
            Held::Unread | Held::Nothing => Self { nothing: true, ..Self::default() },
            Held::Policy { record, version } => {
                let (revision, version) = (record.head.revision, version.to_string());
                Self { revision, version, nothing: false }
            }
        }
    }
}

/// An instance that is connected until this is dropped.
#[derive(Debug)]
pub struct Connection {
    policies: Arc<Policies>,
    known: Arc<Known>,
    id: Arc<str>,
    number: u64,
    held: watch::Receiver<Held>,
    told: Told,
    /// Since when it is connected: what was saved before was not waiting for it.
    since_ms: u64,
    observed: Option<Time>,
    greeted: bool,
    replaced: CancellationToken,
    _open: Open,
}

impl Policies {
    /// Takes an instance in.
    ///
    /// # Errors
    /// Names that make no sense, or too many instances.
    pub fn connect(self: &Arc<Self>, hello: v1::SyncHello) -> Result<Connection, Fault> {
        checks::service(&hello.service)?;
        checks::instance(&hello)?;
        let (known, place) = (self.known_or_new(&hello.service)?, Place::take(self)?);
        let held = known.follow();
        let newest = self.newest.read().get(&known.name).map_or(0, |head| head.revision);
        let here = known.holds();
        if here.is_some_and(|here| here < hello.revision) {
            known.doubt();
        }
        if known.holds().is_none_or(|here| here < newest) {
            tokio::spawn(self.clone().read(known.clone()));
        }
        let (id, replaced) = (Arc::<str>::from(hello.instance), CancellationToken::new());
        let since_ms = self.clock.wall_ms();
        let number = known.add(
            &id,
            Instance {
                number: 0,
                version: hello.version,
                revision: hello.revision,
                refused: String::new(),
                heard_at_ms: since_ms,
                queues: Vec::new(),
                replaced: replaced.clone(),
            },
        );
        place.keep();
        Ok(Connection {
            policies: self.clone(),
            known,
            id,
            number,
            held,
            told: Told { revision: hello.revision, version: hello.text_version, nothing: false },
            since_ms,
            observed: None,
            greeted: false,
            replaced,
            _open: self.metrics.instance(),
        })
    }

    fn known_or_new(&self, service: &str) -> Result<Arc<Known>, Fault> {
        if let Some(known) = self.known.read().get(service) {
            return Ok(known.clone());
        }
        let mut all = self.known.write();
        if all.len() >= MAX_SERVICES && !all.contains_key(service) {
            return Err(Fault::Full(format!("{MAX_SERVICES} services have instances here")));
        }
        let name: Arc<str> = service.into();
        Ok(all.entry(name.clone()).or_insert_with(|| Arc::new(Known::new(name))).clone())
    }

    /// Counts what a change of what was observed takes or gives back.
    pub(super) fn count_observed(&self, change: impl FnOnce() -> isize) {
        match change() {
            grown @ 0.. => self.observed_bytes.fetch_add(grown.unsigned_abs(), Ordering::Relaxed),
            shrunk => self.observed_bytes.fetch_sub(shrunk.unsigned_abs(), Ordering::Relaxed),
        };
    }
}

/// One of the instances that may be connected.
struct Place<'a>(Option<&'a Policies>);

impl<'a> Place<'a> {
    fn take(policies: &'a Policies) -> Result<Self, Fault> {
        let place = Self(Some(policies));
        let before = policies.instances.fetch_add(1, Ordering::Relaxed);
        if before < policies.max_instances {
            return Ok(place);
        }
        let most = policies.max_instances;
        Err(Fault::Full(format!(
            "{most} instances are connected here: connect elsewhere, or raise policies.max_instances"
        )))
    }

    /// The connection gives it back.
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(policies) = self.0 {
            policies.instances.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Connection {
    // === what it is told ===

    /// Whether there is something to tell it.
    pub fn is_due(&self) -> bool {
        !self.greeted || self.told.lacks(&self.held.borrow())
    }

    /// The next thing to tell it, the newest policy there is by now.
    pub fn take_due(&mut self) -> Option<v1::SyncResponse> {
        let message = if self.greeted { self.policy()? } else { self.greeting() };
        Some(v1::SyncResponse { message: Some(message) })
    }

    fn greeting(&mut self) -> ToInstance {
        self.greeted = true;
        ToInstance::ObserveEvery(wire::span(OBSERVE_EVERY))
    }

    fn policy(&mut self) -> Option<ToInstance> {
        let held = self.held.borrow().clone();
        if !self.told.lacks(&held) {
            return None;
        }
        self.told = Told::of(&held);
        match held {
            Held::Unread => None,
            Held::Nothing => Some(ToInstance::NoPolicy(v1::NoPolicy {})),
            Held::Policy { record, .. } => {
                self.policies.metrics.pushed();
                Some(ToInstance::Policy(wire::revision(&record.head, &record.text)))
            }
        }
    }

    /// Waits until there may be something to tell it.
    pub async fn changed(&mut self) {
        if self.held.changed().await.is_err() {
            // The service is kept as long as this is.
            std::future::pending::<()>().await;
        }
    }

    /// When another connection has taken its place.
    pub fn replaced(&self) -> CancellationToken {
        self.replaced.clone()
    }

    // === what it tells ===

    /// A policy holds there, or could not be applied.
    pub fn applied(&self, applied: &v1::PolicyApplied) {
        let now = self.policies.clock.wall_ms();
        let refused = checks::cut(&applied.refused);
        self.update(|instance| {
            instance.refused.clone_from(&refused);
            if refused.is_empty() {
                instance.revision = applied.revision;
            }
        });
        if refused.is_empty() {
            self.measure(applied.revision, now);
        } else {
            self.warn(applied.revision, &refused);
        }
    }

    /// How long it took from the save, if the instance was here to be told.
    fn measure(&self, revision: u64, now_ms: u64) {
        let Held::Policy { record, .. } = &*self.held.borrow() else { return };
        let head = &record.head;
        if head.revision != revision || head.saved_at_ms < self.since_ms {
            return;
        }
        let took = Duration::from_millis(now_ms.saturating_sub(head.saved_at_ms));
        if took <= PUSH_WITHIN {
            self.policies.metrics.applied(took);
        }
    }

    fn warn(&self, revision: u64, why: &str) {
        self.policies.metrics.refused();
        let (service, instance) = (&self.known.name, &self.id);
        if self.known.is_first_refusal(revision) {
            tracing::warn!(%service, revision, %instance, why, "an instance cannot apply a policy: the one before goes on there");
        } else {
            tracing::debug!(%service, revision, %instance, why, "an instance cannot apply a policy");
        }
    }

    /// What it saw since it said so last.
    pub fn observed(&mut self, observation: v1::Observation) {
        let now = self.policies.clock.now();
        if self.observed.is_some_and(|last| now - last < LEAST_BETWEEN) {
            return self.policies.metrics.dropped();
        }
        self.observed = Some(now);
        let over = wire::length(observation.over.as_ref()).min(LONGEST_OBSERVED);
        let middle = self.policies.clock.wall_ms().saturating_sub(over.as_millis() as u64 / 2);
        self.update(|instance| instance.queues = wire::queues(observation.queues));
        self.keep(wire::slice_at(middle), wire::rows(observation.traffic));
    }

    fn keep(&self, slice: u64, rows: BTreeMap<Row, Figures>) {
        let kept = self.policies.observed_bytes.load(Ordering::Relaxed);
        let room = MAX_OBSERVED_BYTES.saturating_sub(kept);
        self.policies.count_observed(|| self.known.observe(slice, rows, room));
    }

    fn update(&self, change: impl FnOnce(&mut Instance)) {
        let now = self.policies.clock.wall_ms();
        self.known.update(&self.id, self.number, |instance| {
            instance.heard_at_ms = now;
            change(instance);
        });
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.known.remove(&self.id, self.number);
        self.policies.instances.fetch_sub(1, Ordering::Relaxed);
    }
}
