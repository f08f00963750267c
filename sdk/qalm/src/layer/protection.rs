//! What all clones of a layer share, and what happens to a request between its
//! arrival and its verdict.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderMap, Method, Request};
use http_body::Body;
use plimsoll_shedding::Criticality;
use plimsoll_shedding::request::Request as Arrival;
use plimsoll_shedding::verdict::Refusal;
use tokio::time::Instant;

use super::address::Address;
use super::answer::{Answer, ShedStatus};
use super::directory::Directory;
use super::drain::DrainBounds;
use super::endpoint::Endpoint;
use super::holds::{Hold, Holds};
use super::incoming::{self, Cohorts};
use super::recent::{Recent, Refusals};
use super::registry::{Found, Registry, Unproven};
use super::source::PolicySource;
use super::told;
use crate::context::Context;
use crate::figures::{Event, LaneFigures};
use crate::gate::{Admission, Gate, Place, Waiting};
use crate::handling::Handling;
use crate::headers::{BadHeaders, Incoming};
use crate::sampler::Sampler;

/// What a request holds in memory while it waits beside its body, in bytes: its
/// head, its task.
const HEAD_BYTES: u64 = 2 << 10;
/// More of a body than this is not read before its handler runs.
const MAX_BODY_BYTES: u64 = 1 << 20;

/// How requests are answered that are not admitted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswerSettings {
    pub(super) status: ShedStatus,
    pub(super) drain: DrainBounds,
}

#[derive(Debug)]
pub(super) struct Protection {
    pub(super) gate: Gate,
    pub(super) registry: Registry,
    pub(super) policy: PolicySource,
    pub(super) answers: AnswerSettings,
    pub(super) refusals: Refusals,
    pub(super) sampler: Sampler,
    pub(super) bad_headers: BadHeaders,
    pub(super) cohorts: Cohorts,
    pub(super) holds: Arc<Holds>,
    #[cfg(feature = "metrics")]
    pub(super) facade: super::metrics::Facade,
}

/// What becomes of a request at once.
#[derive(Debug)]
pub(super) enum Entry {
    Bypassed,
    Admitted(Handling, Visit),
    Queued(Waiting, Visit),
    Refused(Answer, DrainBounds),
}

/// What is still to be known of a request when its verdict or its answer comes.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) context: Context,
    pub(super) grpc: bool,
    pub(super) method: Method,
    protection: Arc<Protection>,
    endpoint: Arc<Endpoint>,
    lane: Arc<LaneFigures>,
    level: Criticality,
    unproven: Option<Unproven>,
}

impl Protection {
    /// The endpoints, under the policy of this moment.
    fn directory(&self) -> arc_swap::Guard<Arc<Directory>> {
        let directory = self.registry.directory();
        let Some(newer) = self.policy.newer_than(&directory.policy) else { return directory };
        drop(directory);
        self.registry.adopt(&newer);
        self.registry.directory()
    }

    pub(super) fn receive<B: Body>(self: &Arc<Self>, request: &Request<B>) -> Entry {
        self.sampler.ensure(&self.gate);
        #[cfg(feature = "metrics")]
        self.facade.ensure(self);
        let directory = self.directory();
        let address = Address::of(request);
        let Found { endpoint, unproven } =
            self.registry.find(&directory, &address, request.uri().path());
        if endpoint.is_bypassed() {
            endpoint.figures.bypassed.fetch_add(1, Ordering::Relaxed);
            return Entry::Bypassed;
        }
        let caller = incoming::caller(request, &directory.caller_from);
        let lane = endpoint.lane(caller.as_deref(), &self.registry.callers, &self.registry.figures);
        let trust = directory.policy.policy().trust;
        let told = Incoming::read(request.headers(), trust, &self.bad_headers);
        let level = told.level(lane.class.level);
        let cohort = told.cohort.unwrap_or_else(|| self.cohorts.next());
        let arrival = Arrival {
            queue: endpoint.queue,
            level,
            cohort,
            caller: lane.caller,
            deadline: told.patience.map(|patience| self.gate.deadline_in(patience)),
            bytes: held_bytes(request.body()),
            enforcement: lane.class.enforcement,
        };
        let deadline = told.patience.map(|patience| Instant::now() + patience);
        let visit = Visit {
            protection: Arc::clone(self),
            context: Context { level, cohort, deadline },
            lane: lane.figures,
            level,
            grpc: address.is_grpc(),
            method: request.method().clone(),
            endpoint,
            unproven,
        };
        match self.gate.arrive(&arrival) {
            Admission::Admitted(place) => Entry::Admitted(visit.admitted(place), visit),
            Admission::Queued(waiting) => Entry::Queued(waiting, visit),
            Admission::Refused(refusal) => {
                let (answer, bounds) = visit.refused(refusal);
                Entry::Refused(answer, bounds)
            }
        }
    }
}

impl Visit {
    /// Counts it, and in dry-run what would have become of it.
    pub(super) fn admitted(&self, place: Place) -> Handling {
        self.lane.count(self.level, Event::Admitted);
        if let Some(refusal) = place.would_refuse() {
            self.lane.count(self.level, Event::WouldRefuse(refusal.reason));
            self.note(refusal, true);
        }
        Handling::new(place, Arc::clone(&self.endpoint.figures))
    }

    pub(super) fn refused(&self, refusal: Refusal) -> (Answer, DrainBounds) {
        self.lane.count(self.level, Event::Refused(refusal.reason));
        self.note(refusal, false);
        let AnswerSettings { status, drain } = self.protection.answers;
        (Answer { refusal, grpc: self.grpc, status }, drain)
    }

    /// Puts right what the caller said of it.
    pub(super) fn tell(&self, headers: &mut HeaderMap) {
        told::tell(&self.context, headers);
    }

    /// Its body is still on its way.
    pub(super) fn sending(&self, handling: Handling) -> Hold {
        self.protection.holds.sending(handling)
    }

    /// Its answer has begun.
    pub(super) fn answering(&self, handling: Handling) -> Hold {
        self.protection.holds.answering(handling)
    }

    /// A handler has answered it.
    pub(super) fn prove(&self) {
        if let Some(unproven) = &self.unproven {
            self.protection.registry.prove(unproven);
        }
    }

    /// Its client went away while it waited.
    pub(super) fn left(&self) {
        self.endpoint.figures.left.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self, refusal: Refusal, dry_run: bool) {
        self.protection.refusals.note(Recent {
            at: self.protection.gate.now(),
            lane: Arc::clone(&self.lane),
            level: self.level,
            refusal,
            dry_run,
        });
    }
}

fn held_bytes<B: Body>(body: &B) -> u32 {
    let declared = body.size_hint().lower().min(MAX_BODY_BYTES);
    (HEAD_BYTES + declared) as u32
}
