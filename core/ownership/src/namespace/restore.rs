//! How a namespace begins: from nothing, from its records, or, if the store has
//! forgotten them, from what executors report.
//!
//! A server that has just started knows nothing about who is alive. So every
//! executor that the records name gets a full lease to be heard, and nothing is
//! moved for balance before all have been, or that lease is over.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;
use slab::Slab;

use super::Namespace;
use super::cycle::LastCycle;
use super::orders::Ordered;
use super::session::Holding;
use super::unary::Report;
use crate::action::{Outcome, RevokeReason, RouteChange, Tell};
use crate::event::What;
use crate::executor::{Executor, Link};
use crate::ids::{ExecutorId, ShardId};
use crate::journal::Journal;
use crate::record::{GrantRecord, Kind, NamespaceRecord, Stored, Write};
use crate::settings::{self, Settings};
use crate::shard::{Because, Next, Phase, Shard};
use crate::stats::Stats;

/// What is known of a namespace's past.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// It has none: nobody can be running anything but its first grants.
    New,
    /// The records are complete.
    Durable,
    /// The records are complete, and another server led before this one. For up to
    /// `confidence` from now on it may go on acknowledging beats.
    Takeover { confidence: Duration },
    /// The store forgets: executors may run shards that no record names.
    Forgetful,
}

impl Origin {
    /// How long another server may go on acknowledging beats.
    fn confidence(self) -> Duration {
        match self {
            Self::Takeover { confidence } => confidence,
            Self::New | Self::Durable | Self::Forgetful => Duration::ZERO,
        }
    }

    /// The same by a clock that is slower than this one.
    fn overlap(self) -> Option<Duration> {
        let confidence = self.confidence();
        (!confidence.is_zero()).then(|| confidence + confidence / 20)
    }
}

impl Namespace {
    /// A namespace from its records. `epoch_ms` is what `Time::ZERO` is in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// The record names a setting that there is not, or a value out of range.
    pub fn new(
        now: Time,
        epoch_ms: u64,
        record: &NamespaceRecord,
        stored: Stored,
        origin: Origin,
    ) -> Result<Self, settings::Error> {
        let entries = record.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings = Settings::from_entries(entries)?;
        let mut namespace = Self::empty(now, epoch_ms, record, settings);
        namespace.restore(now, stored, origin);
        Ok(namespace)
    }

    pub(super) fn empty(
        now: Time,
        epoch_ms: u64,
        record: &NamespaceRecord,
        settings: Settings,
    ) -> Self {
        Self {
            name: record.name.clone(),
            kind: record.kind,
            next_cycle: now + settings.period,
            ordered: Ordered { settings: settings.clone(), frozen: record.frozen },
            settings,
            frozen: record.frozen,
            epoch_ms,
            executors: Slab::new(),
            executor_ids: Default::default(),
            sessions: Default::default(),
            shards: Slab::new(),
            shard_ids: Default::default(),
            unowned: Default::default(),
            drained_shards: Default::default(),
            drained_hosts: Default::default(),
            waiters: Default::default(),
            failures: Default::default(),
            move_costs: Default::default(),
            preparations: Default::default(),
            legacies: Default::default(),
            suspects: Default::default(),
            generation: 0,
            generation_reserved: 0,
            journal: Journal::default(),
            actions: Default::default(),
            recovering_until: None,
            led_blindly_since: None,
            overlap_until: None,
            reset_in_overlap: false,
            adopting: false,
            gathering: None,
            forced_due: true,
            last_cycle: LastCycle::default(),
            planning: Default::default(),
            next_expiry: Time::MAX,
            mass_failure_until: None,
            stats: Stats::default(),
        }
    }

    fn restore(&mut self, now: Time, stored: Stored, origin: Origin) {
        let floor = stored.generation_floor.max(self.generation_base(now, origin));
        self.generation = floor;
        self.generation_reserved = floor;
        self.drained_shards = stored.drained_shards.into_iter().collect();
        self.drained_hosts = stored.drained_hosts.into_iter().collect();
        self.overlap_until = origin.overlap().map(|span| now + span);
        self.make_fixed_shards(now);
        for (key, grant) in stored.grants {
            self.restore_grant(now, key, &grant, origin);
        }
        self.restore_loads(now, &stored.loads);
        self.led_blindly_since = matches!(origin, Origin::Takeover { .. }).then_some(now);
        self.begin_recovery(now, origin);
    }

    /// A store that forgets has forgotten the generations too. Time has not:
    /// nobody grants more than a shard a microsecond.
    fn generation_base(&self, now: Time, origin: Origin) -> u64 {
        match origin {
            Origin::Forgetful => self.wall_ms(now).saturating_mul(1_000),
            Origin::New | Origin::Durable | Origin::Takeover { .. } => 0,
        }
    }

    pub(super) fn make_fixed_shards(&mut self, now: Time) {
        let Kind::Fixed { shards } = self.kind else { return };
        self.shards.reserve_exact(shards as usize);
        self.shard_ids.reserve(&self.shards, shards as usize);
        for n in 0..shards {
            self.add_shard(Arc::from(n.to_string()), now);
        }
    }

    pub(super) fn restore_grant(
        &mut self,
        now: Time,
        key: Arc<str>,
        grant: &GrantRecord,
        origin: Origin,
    ) {
        self.generation = self.generation.max(grant.generation);
        self.generation_reserved = self.generation_reserved.max(grant.generation);
        let id = match self.shard_id(&key) {
            Some(id) => id,
            None if self.is_valid_key(&key) => self.add_shard(key, now),
            // A fixed namespace was made smaller.
            None => return self.journal.write(Write::Release { shard: key }),
        };
        let owner = self.unheard(now, &grant.executor);
        if let Some(executor) = self.executor_mut(owner) {
            executor.expected = origin == Origin::New;
        }
        self.attach(id, owner);
        let overlaps = self.overlap_until.is_some();
        let Some(shard) = self.shard_mut(id) else { return };
        shard.generation = grant.generation;
        shard.because = if origin == Origin::New { Because::Initial } else { Because::Restored };
        // Nobody can have told the owners of a namespace that is only now made.
        shard.enter(Phase::Owned { told: origin != Origin::New }, now);
        shard.inherited = overlaps;
        if shard.drained && !overlaps {
            let (next, reason) = (Next::Release, RevokeReason::ShardDrain);
            shard.enter(Phase::Revoking { next, reason, told: false }, now);
        }
    }

    /// An executor that only the records know.
    fn unheard(&mut self, now: Time, id: &Arc<str>) -> ExecutorId {
        match self.executor_ids.get(id) {
            Some(known) => *known,
            None => self.add_executor(now, id.clone(), host_of(id), Link::Unheard),
        }
    }

    fn restore_loads(&mut self, now: Time, loads: &[(Arc<str>, f64)]) {
        for (key, load) in loads {
            let owner = self.shard_id(key).and_then(|id| self.shard(id)?.owner);
            if let Some(owner) = owner {
                self.with_owned(owner, key, |shard| shard.restore_load(*load, now));
            }
        }
    }

    fn begin_recovery(&mut self, now: Time, origin: Origin) {
        let longest = self.settings.lease.max(self.settings.heartbeat_ttl);
        let until = now + origin.confidence() + longest;
        for (_, executor) in &mut self.executors {
            executor.promise_until(until);
        }
        self.next_expiry = self.earliest_expiry();
        let somebody_may_come = !self.executors.is_empty() || origin == Origin::Forgetful;
        self.recovering_until = somebody_may_come.then_some(until);
        self.adopting = origin == Origin::Forgetful;
    }

    /// When the shard last moved, as far as that is known: what the leader before
    /// moved may be as recent as its end.
    pub(super) fn last_moved(&self, shard: &Shard) -> Option<Time> {
        shard.moved_at().max(self.led_blindly_since)
    }

    pub(super) fn end_recovery(&mut self, now: Time) {
        let Some(until) = self.recovering_until else { return };
        let all_heard = || self.executors.iter().all(|(_, executor)| executor.has_been_heard());
        if now >= until || (!self.adopting && all_heard()) {
            self.recovering_until = None;
            self.adopting = false;
            self.forced_due = true;
            self.cycle_soon(now);
        }
    }

    /// Believes an executor about shards that nobody owns, those too that it is
    /// stopping: they must not start elsewhere before they are stopped.
    pub(super) fn adopt_running(&mut self, now: Time, id: ExecutorId, running: &[Holding]) {
        if !self.adopting {
            return;
        }
        for holding in running {
            self.adopt(now, id, &holding.shard, Some(holding.generation));
        }
    }

    /// The same for an executor that knows no generations. What it is done with
    /// it runs until it is told to stop.
    pub(super) fn adopt_reported(&mut self, now: Time, id: ExecutorId, reports: &[Report]) {
        if !self.adopting {
            return;
        }
        for report in reports {
            self.adopt(now, id, &report.shard, None);
        }
    }

    fn adopt(&mut self, now: Time, to: ExecutorId, key: &Arc<str>, generation: Option<u64>) {
        let claim = generation.filter(|generation| *generation > 0);
        let Some(id) = self.adoptable(now, key, claim) else { return };
        self.tell_superseded(id, to);
        let generation = match claim {
            Some(known) => self.never_below(known),
            None => self.next_generation(),
        };
        self.attach(id, to);
        let Some(executor) = self.executor(to).map(|executor| executor.id.clone()) else { return };
        let Some(shard) = self.shard_mut(id) else { return };
        shard.generation = generation;
        shard.because = Because::Adopted;
        // It runs already: the record follows the fact.
        shard.enter(Phase::Owned { told: true }, now);
        let grant = GrantRecord { executor, generation };
        self.journal.write(Write::Grant { shard: key.clone(), grant });
        self.publish_adoption(now, id, to);
        if self.shard(id).is_some_and(|shard| shard.drained) {
            self.revoke(now, id, Next::Release, RevokeReason::ShardDrain);
        }
    }

    /// A later grant proves that whoever had an earlier one has stopped, or has
    /// lost its lease: whatever it still says, it does not count.
    fn adoptable(&mut self, now: Time, key: &Arc<str>, claim: Option<u64>) -> Option<ShardId> {
        if !self.is_valid_key(key) {
            return None;
        }
        let Some(id) = self.shard_id(key) else { return Some(self.add_shard(key.clone(), now)) };
        let shard = self.shard(id)?;
        let free = match shard.phase {
            Phase::Unowned => claim.is_none_or(|claim| claim >= shard.generation),
            Phase::Owned { .. } | Phase::Revoking { .. } => {
                let later = claim.is_some_and(|claim| claim > shard.generation);
                later && shard.because == Because::Adopted
            }
            Phase::Granting | Phase::Releasing => false,
        };
        free.then_some(id)
    }

    /// Whoever was believed before must not start it again.
    fn tell_superseded(&mut self, id: ShardId, by: ExecutorId) {
        let Some(shard) = self.shard(id) else { return };
        let Some(owner) = shard.owner.filter(|owner| *owner != by) else { return };
        let (shard, generation) = (shard.key.clone(), shard.generation);
        let next = self.executor(by).map(Executor::as_next_owner);
        let reason = RevokeReason::Superseded;
        self.tell(owner, Tell::Revoked { shard, generation, reason, next });
    }

    fn publish_adoption(&mut self, now: Time, id: ShardId, to: ExecutorId) {
        let (Some(shard), Some(executor)) = (self.shard(id), self.executor(to)) else { return };
        let (key, generation) = (shard.key.clone(), shard.generation);
        let (name, metadata) = (executor.id.clone(), executor.metadata.clone());
        self.route(RouteChange::Owned { shard: key, executor: name.clone(), generation });
        self.note_shard(now, What::Adopted, id, Because::Adopted.as_str());
        self.answer_waiters(id, &Outcome::Owner { executor: name, generation, metadata });
    }

    /// Executors that have not been heard since the server started.
    pub(super) fn unheard_executors(&self) -> impl Iterator<Item = &Executor> {
        let all = self.executors.iter().map(|(_, executor)| executor);
        all.filter(|executor| executor.link == Link::Unheard)
    }
}

/// The host in an executor id of the form `host@something`; else the id itself.
pub fn host_of(executor: &str) -> Arc<str> {
    Arc::from(executor.split_once('@').map_or(executor, |(host, _)| host))
}
