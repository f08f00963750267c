//! One namespace: every executor and every shard of it, and what may happen next.
//!
//! The verbs are quinn's: events come in with the time (`hello`, `beat`,
//! `locate`, `order`, `handle_timeout`), `settle` ends a batch of them, actions
//! are polled (`poll_action`), the next deadline is asked for (`poll_timeout`). Changes go through the store:
//! `take_commit` hands out a batch and `committed` says that it is durable. At
//! most one batch is on its way at a time; what gathers meanwhile is the next.
//!
//! Invariants, checked by [`Namespace::check`]:
//! 1. A shard has at most one owner, and its record names that owner before the
//!    owner is told.
//! 2. A shard leaves an owner only when the owner has confirmed that it stopped,
//!    has said goodbye, or is dead: the lease that it was told has run out,
//!    counted from the last heartbeat received.
//! 3. Generations of a shard only grow, over restarts too, and no two instances
//!    of it ever have the same one.
//! 4. A drained shard and a drained host are given nothing.

mod absence;
mod check;
mod choosing;
mod creation;
mod cycle;
mod drains;
mod explain;
mod handover;
mod inspect;
mod legacy;
mod liveness;
mod orders;
mod overlap;
mod placing;
mod planning;
mod preparing;
mod quarantine;
mod restore;
mod session;
mod table;
mod takeover;
mod unary;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use plimsoll_placement::time::Time;
use slab::Slab;

use crate::action::{Action, RouteChange};
use crate::event::Event;
use crate::executor::Executor;
use crate::ids::{ExecutorId, RequestId, SessionId, ShardId};
use crate::journal::{Consequence, Journal};
use crate::key_index::KeyIndex;
use crate::record::{DrainRecord, Kind, Write};
use crate::settings::Settings;
use crate::shard::Shard;

pub use cycle::Planned;
pub use explain::Explanation;
pub use inspect::{Census, ExecutorInspection, ShardInspection};
pub use liveness::Goodbye;
pub use orders::Order;
pub use quarantine::CRASH_LOOP;
pub use restore::{Origin, host_of};
pub use session::{Hello, Holding, SessionEvent};
pub use unary::{Heartbeat, HeartbeatAnswer, Report, UnaryStatus};

use crate::stats::Stats;
use cycle::LastCycle;
use legacy::Legacies;
use orders::Ordered;
use placing::Failure;
use planning::Planning;
use preparing::Preparations;

/// The longest shard key, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;

/// The state machine of one namespace.
#[derive(Debug)]
pub struct Namespace {
    name: Arc<str>,
    kind: Kind,
    settings: Settings,
    frozen: bool,
    ordered: Ordered,
    /// Milliseconds from 1970 to `Time::ZERO`, for what people read.
    epoch_ms: u64,

    executors: Slab<Executor>,
    executor_ids: HashMap<Arc<str>, ExecutorId>,
    sessions: HashMap<SessionId, ExecutorId>,
    shards: Slab<Shard>,
    shard_ids: KeyIndex,

    /// Shards without owner that want one.
    unowned: BTreeSet<ShardId>,
    drained_shards: BTreeMap<Arc<str>, DrainRecord>,
    drained_hosts: BTreeMap<Arc<str>, DrainRecord>,
    /// Who asked for a shard that has no owner yet.
    waiters: BTreeMap<ShardId, Vec<RequestId>>,
    /// Shards that failed to start, and when to try again.
    failures: BTreeMap<ShardId, Failure>,
    /// What a move costs, of shards whose executor says it; above 0.
    move_costs: BTreeMap<ShardId, f64>,
    /// Shards that are made ready elsewhere before they move there.
    preparations: Preparations,
    /// What owners left for the next ones.
    legacies: Legacies,
    /// Hosts that died soon after they got a shard.
    suspects: BTreeMap<ShardId, Vec<Arc<str>>>,

    generation: u64,
    /// Generations up to here may be granted without asking the store again.
    generation_reserved: u64,

    journal: Journal,
    actions: VecDeque<Action>,

    /// Until then the namespace finds out who runs what and moves nothing.
    recovering_until: Option<Time>,
    /// Since when it is led by somebody who knows its past from the records only.
    led_blindly_since: Option<Time>,
    /// Until then the leader before may go on telling what it knew.
    overlap_until: Option<Time>,
    /// What is inherited is to be revoked then.
    reset_in_overlap: bool,
    /// While recovering: believe executors about shards that nobody owns.
    adopting: bool,
    /// The first executors have just come: wait for the others.
    gathering: Option<placing::Gathering>,
    /// Shards must be placed or moved away now.
    forced_due: bool,
    next_cycle: Time,
    last_cycle: LastCycle,
    planning: Planning,
    /// No executor can be dead before then.
    next_expiry: Time,
    mass_failure_until: Option<Time>,
    stats: Stats,
}

impl Namespace {
    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The next batch to store, unless one is on its way. Until
    /// [`Namespace::committed`] is called it may be stored again and again.
    pub fn take_commit(&mut self) -> Option<Vec<Write>> {
        self.journal.take()
    }

    /// The batch on its way is durable.
    pub fn committed(&mut self, now: Time) {
        for consequence in self.journal.arrived() {
            self.follow(now, consequence);
        }
    }

    /// When [`Namespace::handle_timeout`] must be called at the latest.
    pub fn poll_timeout(&self) -> Time {
        let due = self.next_deadline();
        self.next_retry().map_or(due, |retry| retry.min(due))
    }

    /// The next deadline that was known when time last passed. (A retry may be
    /// overdue when an executor comes that can take it.)
    fn next_deadline(&self) -> Time {
        let due = self.next_cycle.min(self.next_expiry);
        let gathered = self.gathering.map(|gathering| gathering.until);
        let prepared = self.preparations.next_timeout();
        let others = [self.recovering_until, self.overlap_until, gathered, prepared];
        others.into_iter().flatten().fold(due, Time::min)
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Time) {
        self.forgive_own_stall(now);
        self.end_overlap(now);
        self.end_recovery(now);
        self.end_gathering(now);
        self.bury_the_silent(now);
        self.end_overdue_preparations(now);
        self.retry_failed(now);
        self.settle(now);
        self.cycle_if_due(now);
    }

    /// The namespace's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Which shards it has.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether balance is frozen.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// What happened so far, in numbers.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Ends a batch of events: forced work is done now, for all of them at once.
    /// Must be called before actions and commits are polled.
    pub fn settle(&mut self, now: Time) {
        if self.forced_due && self.may_place(now) {
            self.forced_due = false;
            self.place_forced(now);
        }
    }

    fn follow(&mut self, now: Time, consequence: Consequence) {
        match consequence {
            Consequence::Granted { shard, generation } => self.granted(now, shard, generation),
            Consequence::Released { shard } => self.released(now, shard),
            Consequence::ShardDrained { key, drain } => self.shard_drained(now, &key, drain),
            Consequence::ShardUndrained { key, why } => self.shard_undrained(now, &key, why),
            Consequence::HostDrained { host, drain } => self.host_drained(now, &host, drain),
            Consequence::HostUndrained { host, why } => self.host_undrained(now, &host, why),
            Consequence::Frozen { frozen, why } => self.set_frozen(now, frozen, why),
            Consequence::Settings(settings) => self.set_settings(now, *settings),
            Consequence::Reset => self.reset(now),
            Consequence::Ordered { request, changed } => self.ordered(request, changed),
        }
    }

    /// A point in time as milliseconds since 1970.
    pub fn wall_ms(&self, time: Time) -> u64 {
        self.epoch_ms + time.as_nanos() / 1_000_000
    }

    fn record(&mut self, event: Event) {
        self.stats.count(event.what);
        self.actions.push_back(Action::Record(event));
    }

    fn route(&mut self, change: RouteChange) {
        self.actions.push_back(Action::Route(change));
    }
}
