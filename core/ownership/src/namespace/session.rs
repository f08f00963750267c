//! Executors with a session: a stream on which grants and revocations are pushed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use super::Namespace;
use super::liveness::Goodbye;
use super::placing::Failure;
use crate::action::{Action, Farewell, RevokeReason, Tell};
use crate::event::What;
use crate::executor::{Labels, Link};
use crate::ids::{ExecutorId, SessionId, ShardId};
use crate::measured::Smoothing;
use crate::message::{Grant, State};
use crate::settings::Settings;
use crate::shard::{Next, Phase, Shard};

/// The longest wait before a shard that cannot start is tried again.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// The first such wait; it doubles from there.
const FIRST_RETRY: Duration = Duration::from_millis(500);

/// The first message of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Hello {
    pub executor: Arc<str>,
    pub host: Arc<str>,
    pub metadata: Labels,
    /// Grows with every hello of this executor, over restarts of its process
    /// too (say, microseconds since 1970). 0: unknown, taken as the newest.
    pub attempt: u64,
    /// Everything that it runs, starts or stops.
    pub running: Vec<Holding>,
    /// It answers what it is told to prepare.
    pub prepares: bool,
}

/// A shard that an executor runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Holding {
    pub shard: Arc<str>,
    pub generation: u64,
    /// Its stop is under way and cannot be taken back.
    pub stopping: bool,
}

/// A later message of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEvent {
    /// What changed. Loads are finite and not negative; costs of a move finite
    /// and above 0.
    Beat {
        sequence: u64,
        loads: Vec<(Arc<str>, f64)>,
        costs: Vec<(Arc<str>, f64)>,
        metadata: Option<Labels>,
    },
    Started {
        shard: Arc<str>,
        generation: u64,
    },
    Stopped {
        shard: Arc<str>,
        generation: u64,
        error: Option<String>,
        /// For the next owner, at most [`MAX_STATE_BYTES`](crate::message::MAX_STATE_BYTES).
        state: Option<State>,
    },
    Done {
        shard: Arc<str>,
        generation: u64,
    },
    /// What it was told to prepare is ready, or cannot be made so.
    Prepared {
        shard: Arc<str>,
        /// Of the preparation.
        generation: u64,
        error: Option<String>,
    },
    Leaving,
    Goodbye {
        /// It comes back under the same id.
        returning: bool,
    },
}

impl Namespace {
    /// A session begins. It ends an earlier one of the same executor. A hello
    /// that was overtaken by a later one on another stream counts for nothing:
    /// what it lists was true long ago.
    pub fn hello(&mut self, now: Time, session: SessionId, hello: &Hello) {
        if self.is_overtaken(hello) {
            let message = Tell::Farewell(Farewell::ServerLeaving);
            return self.actions.push_back(Action::Tell { session, message });
        }
        let id = self.admit(now, session, hello);
        self.set_labels(now, id, hello.metadata.clone());
        let running: HashMap<&str, &Holding> =
            hello.running.iter().map(|holding| (&*holding.shard, holding)).collect();
        self.adopt_running(now, id, &hello.running);
        let is_back = self.end_absence(id);
        for shard in self.shards_of(id).to_vec() {
            self.compare(now, shard, &running, is_back);
        }
        self.welcome(id, &running);
        self.revoke_again(id);
        self.gather(now);
        self.cycle_soon(now);
    }

    /// A message on a session. Messages of sessions that have ended are ignored.
    pub fn session_event(&mut self, now: Time, session: SessionId, event: SessionEvent) {
        let Some(id) = self.sessions.get(&session).copied() else { return };
        match event {
            SessionEvent::Beat { sequence, loads, costs, metadata } => {
                self.beat(now, id, sequence, &loads, metadata);
                self.set_move_costs(id, &costs);
            }
            SessionEvent::Started { shard, generation } => self.started(id, &shard, generation),
            SessionEvent::Stopped { shard, generation, error, state } => {
                self.stopped(now, id, &shard, generation, error, state);
            }
            SessionEvent::Done { shard, generation } => self.done(now, id, &shard, generation),
            SessionEvent::Prepared { shard, generation, error } => {
                self.prepared(now, id, &shard, generation, error);
            }
            SessionEvent::Leaving => self.set_leaving(now, id, true),
            SessionEvent::Goodbye { returning } => self.goodbye(now, id, returning),
        }
    }

    fn goodbye(&mut self, now: Time, id: ExecutorId, returning: bool) {
        let returning = returning && self.keeps_for_the_returning();
        if self.has_inherited(id) {
            self.note_executor(now, What::Left, id, String::new());
            self.part_in_overlap(now, id, returning);
        } else if returning {
            self.begin_absence(now, id);
        } else {
            self.note_executor(now, What::Left, id, String::new());
            self.bury(now, id, Goodbye::Said);
        }
    }

    /// A stream has ended. The lease goes on.
    pub fn session_closed(&mut self, session: SessionId) {
        let Some(id) = self.sessions.remove(&session) else { return };
        if let Some(executor) = self.executor_mut(id).filter(|e| e.session() == Some(session)) {
            executor.link = Link::Session(None);
        }
    }

    /// Ends every session, since the namespace goes or the server does.
    pub fn close(&mut self, farewell: Farewell) {
        let all: Vec<_> = self.executors.iter().map(|(slot, _)| ExecutorId::of(slot)).collect();
        for id in all {
            self.tell(id, Tell::Farewell(farewell));
        }
        self.sessions.clear();
    }

    fn is_overtaken(&self, hello: &Hello) -> bool {
        let id = self.executor_ids.get(&hello.executor).copied();
        let latest = id.and_then(|id| self.executor(id)).map_or(0, |executor| executor.attempt);
        hello.attempt != 0 && hello.attempt <= latest
    }

    fn admit(&mut self, now: Time, session: SessionId, hello: &Hello) -> ExecutorId {
        let id = match self.executor_ids.get(&hello.executor).copied() {
            Some(id) => id,
            None => self.join(now, &hello.executor, &hello.host, Link::Session(None)),
        };
        self.tell(id, Tell::Farewell(Farewell::Replaced));
        if let Some(earlier) = self.executor(id).and_then(|executor| executor.session()) {
            self.sessions.remove(&earlier);
        }
        self.sessions.insert(session, id);
        self.set_host(now, id, hello.host.clone());
        if let Some(executor) = self.executors.get_mut(id.slot()) {
            executor.wire_status = 0;
            executor.leaving = false;
            executor.prepares = hello.prepares;
            executor.rejoins = false;
            executor.attempt = executor.attempt.max(hello.attempt);
            executor.begin_session(now, session, &self.settings);
            self.next_expiry = self.next_expiry.min(executor.expires_at(&self.settings));
        }
        id
    }

    pub(super) fn join(
        &mut self,
        now: Time,
        id: &Arc<str>,
        host: &Arc<str>,
        link: Link,
    ) -> ExecutorId {
        let slot = self.add_executor(now, id.clone(), host.clone(), link);
        self.note_executor(now, What::Joined, slot, String::new());
        slot
    }

    /// What the executor says it runs against what we believe.
    /// `is_back`: it said that it ran nothing and would come back.
    fn compare(
        &mut self,
        now: Time,
        id: ShardId,
        running: &HashMap<&str, &Holding>,
        is_back: bool,
    ) {
        let Some(shard) = self.shard(id) else { return };
        let holding = running.get(&*shard.key);
        if let Some(holding) = holding {
            self.named_by_owner(now, id, holding);
        }
        let Some(shard) = self.shard(id) else { return };
        match (shard.phase, holding) {
            _ if self.is_inherited(id) => {}
            (Phase::Revoking { .. }, None) => self.confirmed(now, id),
            // It is revoked once more after the welcome.
            (Phase::Revoking { .. }, Some(_)) => self.mark_revocation_told(id),
            // The stop that is under way will be confirmed; a new grant, with a
            // new generation, may come after it.
            (Phase::Owned { .. }, Some(holding)) if holding.stopping => {
                self.mark_told(id);
                self.revoke_untold(now, id, Next::Anyone, RevokeReason::Stopping);
            }
            // What was taken over from it may be somebody else's.
            (Phase::Owned { .. }, None) if self.adopting => self.orphan(now, id),
            // It runs no more, or its process is another one: what is left of
            // the earlier instance must not pass for the next.
            (Phase::Owned { told }, None) if told || is_back => self.grant_anew(now, id),
            (Phase::Owned { .. }, _) => self.mark_told(id),
            (Phase::Unowned | Phase::Granting | Phase::Releasing, _) => {}
        }
    }

    /// The same owner under a new generation, unless it is to carry nothing.
    pub(super) fn grant_anew(&mut self, now: Time, id: ShardId) {
        let Some(shard) = self.shard(id).filter(|shard| self.is_tellable(shard)) else { return };
        let (because, Some(owner)) = (shard.because, shard.owner) else { return };
        if self.executor(owner).is_some_and(|executor| executor.candidacy().must_empty()) {
            self.orphan(now, id);
        } else {
            self.grant(now, id, owner, because);
        }
    }

    /// Waits for a stop that the executor began by itself, or is told of otherwise.
    pub(super) fn revoke_untold(
        &mut self,
        now: Time,
        id: ShardId,
        next: Next,
        reason: RevokeReason,
    ) {
        let Some(shard) = self.shard_mut(id) else { return };
        shard.enter(Phase::Revoking { next, reason, told: true }, now);
        self.end_preparing(id);
    }

    pub(super) fn mark_told(&mut self, id: ShardId) {
        if let Some(Phase::Owned { told }) = self.shard_mut(id).map(|shard| &mut shard.phase) {
            *told = true;
        }
    }

    /// What a welcome leaves out is stopped at once, and nothing of it is handed
    /// over. So it names what is about to be revoked, too.
    fn welcome(&mut self, id: ExecutorId, running: &HashMap<&str, &Holding>) {
        let is_named = |shard: &Shard| match shard.phase {
            Phase::Owned { .. } => self.is_tellable(shard),
            Phase::Revoking { .. } => running.get(&*shard.key).is_some_and(|it| !it.stopping),
            Phase::Unowned | Phase::Granting | Phase::Releasing => false,
        };
        let all = self.shards_of(id).iter().copied();
        let named = all.filter(|id| self.shard(*id).is_some_and(is_named));
        let grants = named.filter_map(|id| self.grant_message(id));
        // What runs already has its state.
        let grants = grants.map(|grant| match running.contains_key(&*grant.shard) {
            true => Grant { state: None, ..grant },
            false => grant,
        });
        let grants = grants.collect();
        let preparations = self.preparations_at(id);
        let Settings { lease, beat, lease_end, .. } = self.settings;
        self.tell(id, Tell::Welcome { lease, beat, lease_end, grants, preparations });
    }

    /// Names every shard that must be confirmed with its present generation: a
    /// stop that began under an earlier one would confirm only that.
    fn revoke_again(&mut self, id: ExecutorId) {
        let all = self.shards_of(id).iter().filter_map(|shard| self.shard(*shard));
        let revocations: Vec<_> = all.filter_map(|shard| self.revocation(shard)).collect();
        for revocation in revocations {
            self.tell(id, revocation);
        }
    }

    /// Has every session begin anew, so that it hears the lease and the beat.
    pub(super) fn end_sessions(&mut self) {
        let sessions: Vec<_> = self
            .executors
            .iter()
            .filter_map(|(slot, executor)| Some((ExecutorId::of(slot), executor.session()?)))
            .collect();
        for (id, session) in sessions {
            self.tell(id, Tell::Farewell(Farewell::ServerLeaving));
            self.session_closed(session);
        }
    }

    fn beat(
        &mut self,
        now: Time,
        id: ExecutorId,
        sequence: u64,
        loads: &[(Arc<str>, f64)],
        metadata: Option<Labels>,
    ) {
        let Some(executor) = self.executor_mut(id) else { return };
        executor.heard(now);
        self.tell(id, Tell::BeatAck { sequence });
        if let Some(metadata) = metadata {
            self.set_labels(now, id, metadata);
        }
        for (key, load) in loads {
            self.measured_change(now, id, key, *load);
        }
    }

    fn set_move_costs(&mut self, id: ExecutorId, costs: &[(Arc<str>, f64)]) {
        for (key, cost) in costs {
            let Some(shard) = self.shard_id(key) else { continue };
            if self.is_held_by(id, key) {
                self.move_costs.insert(shard, *cost);
                self.note_for_planner(shard);
            }
        }
    }

    fn measured_change(&mut self, now: Time, id: ExecutorId, key: &str, load: f64) {
        let smoothing = Smoothing::of(&self.settings.policy);
        self.with_owned(id, key, |shard| shard.measure_change(load, now, smoothing));
    }

    /// Changes the load of a shard and its owner's sums together.
    pub(super) fn with_owned(
        &mut self,
        id: ExecutorId,
        key: &str,
        measure: impl FnOnce(&mut Shard),
    ) {
        let Some(shard_id) = self.shard_id(key) else { return };
        let Some(shard) = self.shards.get_mut(shard_id.slot()) else { return };
        if shard.owner != Some(id) {
            return;
        }
        let Some(executor) = self.executors.get_mut(id.slot()) else { return };
        if shard.is_measured() {
            executor.load -= shard.smoothed();
        } else {
            executor.measured += 1;
        }
        measure(shard);
        self.planning.note(shard_id, shard);
        executor.load += shard.smoothed();
    }

    fn started(&mut self, id: ExecutorId, key: &str, generation: u64) {
        if let Some(shard) = self.held(id, key, generation) {
            self.failures.remove(&shard);
            self.legacies.forget(shard);
        }
    }

    fn stopped(
        &mut self,
        now: Time,
        id: ExecutorId,
        key: &str,
        generation: u64,
        error: Option<String>,
        state: Option<State>,
    ) {
        let Some(shard) = self.held_up_to(id, key, generation) else { return };
        let phase = self.shard(shard).map(|shard| shard.phase);
        if error.is_none() {
            self.leave_legacy(now, shard, state);
        }
        match phase {
            Some(Phase::Revoking { .. }) => self.confirmed(now, shard),
            Some(Phase::Owned { .. }) if error.is_none() && self.may_have_fenced(shard) => {
                self.resume(now, shard);
            }
            Some(Phase::Owned { .. }) => self.failed(now, shard, error),
            Some(Phase::Unowned | Phase::Granting | Phase::Releasing) | None => {}
        }
    }

    /// An executor that heard nothing for a lease, since the server stood still,
    /// stops by itself. That is no failure, unless it happens again and again.
    fn may_have_fenced(&self, id: ShardId) -> bool {
        !self.failures.contains_key(&id)
    }

    /// Gives a shard that its owner stopped to the same owner again.
    fn resume(&mut self, now: Time, id: ShardId) {
        let error = "stopped by its executor".to_owned();
        self.failures.insert(id, Failure { count: 1, retry_at: now, error });
        self.grant_anew(now, id);
    }

    /// The owner could not start it, or stopped it by itself: somebody else is
    /// tried after a while.
    fn failed(&mut self, now: Time, id: ShardId, error: Option<String>) {
        let error = error.unwrap_or_else(|| "stopped by its executor".to_owned());
        self.note_shard(now, What::Failed, id, error.clone());
        let count = self.failures.get(&id).map_or(0, |failure| failure.count) + 1;
        let wait = FIRST_RETRY.saturating_mul(1 << (count - 1).min(10)).min(LONGEST_RETRY);
        self.failures.insert(id, Failure { count, retry_at: now + wait, error });
        self.orphan(now, id);
    }

    fn done(&mut self, now: Time, id: ExecutorId, key: &str, generation: u64) {
        if let Some(shard) = self.held(id, key, generation) {
            self.finish(now, shard);
        }
    }

    /// The shard of that key if this executor has it by that very grant.
    fn held(&self, id: ExecutorId, key: &str, generation: u64) -> Option<ShardId> {
        let held = self.held_up_to(id, key, generation)?;
        self.shard(held).filter(|shard| shard.generation == generation).map(|_| held)
    }

    /// The shard of that key if this executor has it by that grant or an earlier
    /// one: what has stopped has stopped under all of them.
    fn held_up_to(&self, id: ExecutorId, key: &str, generation: u64) -> Option<ShardId> {
        let shard_id = self.shard_id(key)?;
        let shard = self.shard(shard_id)?;
        let is_held = shard.owner == Some(id) && shard.generation <= generation;
        (is_held && !self.is_inherited(shard_id)).then_some(shard_id)
    }
}
