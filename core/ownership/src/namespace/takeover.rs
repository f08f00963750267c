//! From one server to the next without forgetting: the old leader writes down what
//! the records do not say, the next one begins with it. Nobody waits for a lease
//! that is long over, nothing moves, and what is under way goes on.
//!
//! The records decide who was granted what. What the state says beside them is
//! believed as far as it fits them.

mod phases;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use super::Namespace;
use super::placing::Failure;
use super::restore::Origin;
use crate::executor::{Executor, Link};
use crate::handover::{
    ExecutorState, FailureState, HandoverState, LinkState, PhaseState, ShardState,
};
use crate::ids::{ExecutorId, ShardId};
use crate::record::{GrantRecord, NamespaceRecord, Stored};
use crate::settings::{self, Settings};
use crate::shard::Shard;

/// Where the executors of a state are in a namespace, and the other way round.
type Places = Vec<Option<u32>>;

// === impl Namespace: the old leader ===

impl Namespace {
    /// What the next leader needs beside the records. Whatever is acknowledged to
    /// anybody after this is unknown to it: feed this machine nothing more, unless
    /// nobody takes over.
    pub fn hand_over(&self, now: Time) -> HandoverState {
        let mut places: Places = vec![None; self.executors.capacity()];
        let mut executors = Vec::with_capacity(self.executors.len());
        for (slot, executor) in &self.executors {
            places[slot] = u32::try_from(executors.len()).ok();
            executors.push(executor.to_state(now));
        }
        let mut legacies = self.legacies.to_state();
        let shards = self.shards.iter().map(|(slot, shard)| {
            let id = ShardId::of(slot);
            let legacy = legacies.remove(&id);
            ShardState { legacy, ..self.shard_state(now, id, shard, &places) }
        });
        HandoverState {
            generation: self.generation,
            executors,
            shards: shards.collect(),
            suspects: self.suspects_by_key(),
            mass_failure_for: self.mass_failure_until.map(|until| until - now),
            overlap_for: self.overlap_until.map(|until| until - now),
            reset_after: self.reset_in_overlap,
        }
    }

    fn shard_state(&self, now: Time, id: ShardId, shard: &Shard, places: &Places) -> ShardState {
        let owner = shard.owner.and_then(|owner| places.get(owner.slot()).copied().flatten());
        ShardState {
            key: shard.key.clone(),
            generation: shard.generation,
            owner,
            phase: self.phase_state(now, id, shard, places),
            since: now - shard.since,
            moved: shard.moved_at().map(|at| now - at),
            load: shard.is_measured().then(|| shard.smoothed()),
            move_cost: self.move_costs.get(&id).copied(),
            reported_running: shard.reported_running,
            inherited: shard.inherited,
            failure: self.failures.get(&id).map(|failure| failure.to_state(now)),
            legacy: None,
        }
    }

    fn suspects_by_key(&self) -> Vec<(Arc<str>, Vec<Arc<str>>)> {
        let all = self.suspects.iter();
        all.filter_map(|(id, hosts)| Some((self.shard(*id)?.key.clone(), hosts.clone()))).collect()
    }
}

impl Executor {
    fn to_state(&self, now: Time) -> ExecutorState {
        ExecutorState {
            id: self.id.clone(),
            host: self.host.clone(),
            metadata: (*self.metadata).clone(),
            link: match self.link {
                Link::Unheard => LinkState::Unheard,
                Link::Session(_) => LinkState::Session,
                Link::Unary => LinkState::Unary,
            },
            attempt: self.attempt,
            told_lease: self.told_lease,
            promised_for: self.promised_until() - now,
            heard_ago: now - self.last_heard,
            held_for: self.held_until.map(|until| until - now),
            open_since: self.opened_at.map(|at| now - at),
            version_since: self.version_since.map(|at| now - at),
            away_for: self.away_until.map(|until| until - now),
            leaving: self.leaving,
            prepares: self.prepares,
            wire_status: self.wire_status,
        }
    }

    fn from_state(now: Time, state: ExecutorState, settings: &Settings) -> Self {
        let link = match state.link {
            LinkState::Unheard => Link::Unheard,
            LinkState::Session => Link::Session(None),
            LinkState::Unary => Link::Unary,
        };
        let mut executor = Self::new(state.id, state.host, link, now);
        executor.metadata = Arc::new(state.metadata);
        executor.attempt = state.attempt;
        executor.told_lease = state.told_lease;
        executor.last_heard = before(now, state.heard_ago);
        executor.held_until = state.held_for.map(|left| now + left);
        executor.opened_at = state.open_since.and_then(|ago| long_before(now, ago));
        executor.version_since = state.version_since.and_then(|ago| long_before(now, ago));
        executor.away_until = state.away_for.map(|left| now + left);
        executor.leaving = state.leaving;
        executor.prepares = state.prepares;
        executor.wire_status = state.wire_status;
        executor.rejoins = link == Link::Session(None) && executor.away_until.is_none();
        // Its stream broke with the server: it has a full lease to find this one.
        executor.promise_until((now + state.promised_for).max(now + executor.lease(settings)));
        executor
    }
}

impl Failure {
    fn to_state(&self, now: Time) -> FailureState {
        let (count, error) = (self.count, self.error.clone());
        FailureState { count, retry_in: self.retry_at - now, error }
    }

    fn from_state(now: Time, state: FailureState) -> Self {
        Self { count: state.count, retry_at: now + state.retry_in, error: state.error }
    }
}

// === impl Namespace: the next leader ===

impl Namespace {
    /// A namespace from its records, read after this server has raised its epoch,
    /// and from what the leader before said last.
    ///
    /// # Errors
    /// As [`Namespace::new`].
    pub fn take_over(
        now: Time,
        epoch_ms: u64,
        record: &NamespaceRecord,
        stored: Stored,
        state: HandoverState,
    ) -> Result<Self, settings::Error> {
        let entries = record.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings = Settings::from_entries(entries)?;
        let mut namespace = Self::empty(now, epoch_ms, record, settings);
        namespace.succeed(now, stored, state);
        Ok(namespace)
    }

    fn succeed(&mut self, now: Time, stored: Stored, state: HandoverState) {
        self.generation = state.generation;
        self.generation_reserved = stored.generation_floor;
        self.drained_shards = stored.drained_shards.into_iter().collect();
        self.drained_hosts = stored.drained_hosts.into_iter().collect();
        self.overlap_until = state.overlap_for.map(|left| now + left);
        self.reset_in_overlap = state.reset_after;
        self.make_fixed_shards(now);
        let mut grants: BTreeMap<_, _> = stored.grants.into_iter().collect();
        let executors = state.executors.into_iter();
        let executors: Vec<_> = executors.map(|it| self.add_from_state(now, it)).collect();
        for shard in state.shards {
            let grant = grants.remove(&shard.key);
            self.succeed_shard(now, shard, grant.as_ref(), &executors);
        }
        // The leader before knew nothing of these.
        for (key, grant) in grants {
            self.restore_grant(now, key, &grant, Origin::Durable);
        }
        self.generation_reserved = self.generation_reserved.max(self.generation);
        self.restore_suspects(state.suspects);
        self.mass_failure_until = state.mass_failure_for.map(|left| now + left);
        self.await_sessions(now);
    }

    fn add_from_state(&mut self, now: Time, state: ExecutorState) -> ExecutorId {
        if let Some(known) = self.executor_ids.get(&state.id) {
            return *known;
        }
        let executor = Executor::from_state(now, state, &self.settings);
        self.insert_executor(executor)
    }

    fn succeed_shard(
        &mut self,
        now: Time,
        mut state: ShardState,
        grant: Option<&GrantRecord>,
        executors: &[ExecutorId],
    ) {
        let is_later = |grant: &GrantRecord| grant.generation > state.generation;
        if let Some(grant) = grant.filter(|grant| is_later(grant)) {
            return self.restore_grant(now, state.key, grant, Origin::Durable);
        }
        let runs = !matches!(state.phase, PhaseState::Unowned | PhaseState::Granting);
        // Nobody but those who wait for it knows of an ephemeral shard like this.
        let matters = runs || grant.is_some() || self.shard_id(&state.key).is_some();
        if !matters || !self.is_valid_key(&state.key) {
            return;
        }
        let known = self.shard_id(&state.key);
        let id = known.unwrap_or_else(|| self.add_shard(state.key.clone(), now));
        self.restore_facts(now, id, &state);
        if let Some(legacy) = state.legacy.take() {
            self.take_over_legacy(now, id, legacy);
        }
        self.restore_phase(now, id, &state, grant, executors);
        if let Some(failure) = state.failure {
            self.failures.insert(id, Failure::from_state(now, failure));
        }
    }

    fn restore_facts(&mut self, now: Time, id: ShardId, state: &ShardState) {
        self.never_granted_above(state.generation);
        if let Some(cost) = state.move_cost {
            self.move_costs.insert(id, cost);
        }
        let Some(shard) = self.shard_mut(id) else { return };
        shard.generation = state.generation;
        if let Some(load) = state.load {
            shard.restore_load(load, now);
        }
        if let Some(ago) = state.moved {
            shard.moved(before(now, ago));
        }
    }

    fn restore_suspects(&mut self, suspects: Vec<(Arc<str>, Vec<Arc<str>>)>) {
        for (key, hosts) in suspects {
            if let Some(id) = self.shard_id(&key) {
                self.suspects.insert(id, hosts);
            }
        }
    }

    /// Nothing is moved for balance before all sessions are there again.
    fn await_sessions(&mut self, now: Time) {
        let longest = self.settings.lease.max(self.settings.heartbeat_ttl);
        let all_heard = self.executors.iter().all(|(_, executor)| executor.has_been_heard());
        self.recovering_until = (!all_heard).then(|| now + longest);
        self.next_expiry = self.earliest_expiry();
    }

    fn never_granted_above(&mut self, generation: u64) {
        self.generation = self.generation.max(generation);
    }
}

/// This clock's origin for what happened before it.
fn before(now: Time, ago: Duration) -> Time {
    long_before(now, ago).unwrap_or(Time::ZERO)
}

/// `None` for what happened before this clock's origin.
fn long_before(now: Time, ago: Duration) -> Option<Time> {
    let nanos = u64::try_from(ago.as_nanos()).ok()?;
    now.as_nanos().checked_sub(nanos).map(Time::from_nanos)
}
