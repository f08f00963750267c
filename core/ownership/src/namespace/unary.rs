//! Executors that send unary heartbeats, as the Go clients do.
//!
//! They know no generation and no confirmation, so both are read from what they
//! report. A revoked shard is named in the answer (never left out: an empty
//! answer changes nothing in a Go client) and counts as stopped when a report
//! that came after that answer leaves it out. A shard that was granted and never
//! named in an answer cannot be running.

use std::collections::HashSet;
use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{Farewell, RevokeReason, Tell};
use crate::event::What;
use crate::executor::{Labels, Link};
use crate::ids::{ExecutorId, ShardId};
use crate::measured::Smoothing;
use crate::record::Kind;
use crate::shard::{Next, Phase};

/// One heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    pub executor: Arc<str>,
    pub host: Arc<str>,
    pub status: UnaryStatus,
    /// The status as it came, to show it as it is.
    pub wire_status: i32,
    pub metadata: Labels,
    pub reports: Vec<Report>,
}

/// What an executor says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UnaryStatus {
    /// It may be given shards.
    Active,
    /// It wants none, and has stopped those that it does not report.
    Leaving,
}

/// What an executor says of one shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub shard: Arc<str>,
    /// The work of an ephemeral shard is finished.
    pub done: bool,
    /// Finite and not negative.
    pub load: f64,
}

/// What an executor is told.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HeartbeatAnswer {
    /// Run these.
    pub ready: Vec<Arc<str>>,
    /// Stop these.
    pub revoked: Vec<Arc<str>>,
}

impl Namespace {
    /// Takes a heartbeat. Call [`Namespace::settle`] and then
    /// [`Namespace::heartbeat_answer`] for what to tell the executor.
    pub fn heartbeat(&mut self, now: Time, beat: &Heartbeat) {
        let id = self.admit_unary(now, beat);
        self.set_labels(now, id, beat.metadata.clone());
        self.set_leaving(now, id, beat.status == UnaryStatus::Leaving);
        self.adopt_reported(now, id, &beat.reports);
        self.confirm_unreported(now, id, beat);
        let smoothing = Smoothing::of(&self.settings.policy);
        for report in &beat.reports {
            self.with_owned(id, &report.shard, |shard| {
                shard.reported_running = true;
                shard.measure(report.load, now, smoothing);
            });
            self.done_if_reported(now, id, report);
        }
    }

    /// What the executor of this heartbeat must know. It counts as told.
    pub fn heartbeat_answer(&mut self, beat: &Heartbeat) -> HeartbeatAnswer {
        let mut answer = HeartbeatAnswer::default();
        let Some(id) = self.executor_ids.get(&beat.executor).copied() else { return answer };
        for shard in self.shards_of(id).to_vec() {
            self.answer_for(shard, &mut answer);
        }
        let strangers = beat.reports.iter().filter(|report| !self.is_held_by(id, &report.shard));
        let strangers: Vec<_> = strangers.map(|report| report.shard.clone()).collect();
        let contested = strangers.iter().filter(|shard| self.has_owner(shard)).count();
        self.stats.contested += contested as u64;
        answer.revoked.extend(strangers);
        answer
    }

    fn has_owner(&self, key: &str) -> bool {
        let shard = self.shard_id(key).and_then(|shard| self.shard(shard));
        shard.is_some_and(|shard| shard.is_owned())
    }

    /// A heartbeat that had to be refused is a sign of life all the same: a bad
    /// load must not cost the executor its shards.
    pub fn refused_heartbeat(&mut self, now: Time, executor: &str) {
        let id = self.executor_ids.get(executor).copied();
        if let Some(executor) = id.and_then(|id| self.executor_mut(id)) {
            executor.heard(now);
        }
    }

    fn admit_unary(&mut self, now: Time, beat: &Heartbeat) -> ExecutorId {
        let known = self.executor_ids.get(&beat.executor).copied();
        let id = known.unwrap_or_else(|| self.join(now, &beat.executor, &beat.host, Link::Unary));
        let was_open = known.is_some() && self.is_open(id);
        self.set_host(now, id, beat.host.clone());
        self.tell(id, Tell::Farewell(Farewell::Replaced));
        if let Some(session) = self.executor(id).and_then(|executor| executor.session()) {
            self.sessions.remove(&session);
        }
        if let Some(executor) = self.executor_mut(id) {
            executor.link = Link::Unary;
            executor.wire_status = beat.wire_status;
            executor.leaving &= beat.status == UnaryStatus::Leaving;
            executor.heard(now);
        }
        if self.end_absence(id) {
            for shard in self.shards_of(id).to_vec() {
                self.grant_anew(now, shard);
            }
        }
        if !was_open && beat.status == UnaryStatus::Active {
            self.gather(now);
            self.cycle_soon(now);
        }
        id
    }

    /// Shards that were revoked, and told so, and are not reported any more.
    fn confirm_unreported(&mut self, now: Time, id: ExecutorId, beat: &Heartbeat) {
        let leaving = beat.status == UnaryStatus::Leaving;
        let waited_for: Vec<_> = self
            .shards_of(id)
            .iter()
            .copied()
            .filter(|shard| self.may_be_confirmed(now, *shard, leaving))
            .collect();
        if waited_for.is_empty() {
            return;
        }
        let reported: HashSet<&str> = beat.reports.iter().map(|report| &*report.shard).collect();
        for shard in waited_for {
            if self.shard(shard).is_some_and(|shard| !reported.contains(&*shard.key)) {
                self.confirm_unary(now, shard);
            }
        }
    }

    /// Whether leaving a shard out of a report means that it does not run. A Go
    /// client leaves out what it is starting, too; so one that was never
    /// reported may be starting, and the answer that revoked it may have been
    /// lost: then the revocation is repeated for as long as a lease.
    fn may_be_confirmed(&self, now: Time, id: ShardId, leaving: bool) -> bool {
        let Some(shard) = self.shard(id) else { return false };
        match shard.phase {
            // It stops everything before it says that it is leaving.
            Phase::Revoking { .. } | Phase::Owned { .. } if leaving => true,
            Phase::Revoking { told, .. } => {
                let waited = now - shard.since >= self.settings.heartbeat_ttl;
                told && (shard.reported_running || waited)
            }
            Phase::Owned { .. } | Phase::Unowned | Phase::Granting | Phase::Releasing => false,
        }
    }

    fn confirm_unary(&mut self, now: Time, id: ShardId) {
        if self.shard(id).is_some_and(|shard| shard.is_owned()) {
            self.note_shard(now, What::Stopped, id, "");
            self.orphan(now, id);
        } else {
            self.confirmed(now, id);
        }
    }

    fn done_if_reported(&mut self, now: Time, id: ExecutorId, report: &Report) {
        if report.done
            && let Some(shard) = self.shard_id(&report.shard)
            && self.shard(shard).is_some_and(|shard| shard.owner == Some(id))
        {
            self.finish(now, shard);
        }
    }

    /// The owner is done with an ephemeral shard; a fixed one is never done. (Who speaks
    /// unary says so again.)
    pub(super) fn finish(&mut self, now: Time, id: ShardId) {
        let is_held = self.shard(id).is_some_and(|shard| self.is_tellable(shard));
        if self.kind == Kind::Ephemeral && is_held {
            self.note_shard(now, What::Done, id, "");
            self.revoke(now, id, Next::Release, RevokeReason::Done);
        }
    }

    fn answer_for(&mut self, id: ShardId, answer: &mut HeartbeatAnswer) {
        let Some(shard) = self.shard_mut(id) else { return };
        match &mut shard.phase {
            Phase::Owned { told } => {
                *told = true;
                answer.ready.push(shard.key.clone());
            }
            Phase::Revoking { told, .. } => {
                *told = true;
                answer.revoked.push(shard.key.clone());
            }
            Phase::Unowned | Phase::Granting | Phase::Releasing => {}
        }
    }

    pub(super) fn is_held_by(&self, id: ExecutorId, key: &str) -> bool {
        let shard = self.shard_id(key).and_then(|shard| self.shard(shard));
        shard.is_some_and(|shard| {
            shard.owner == Some(id)
                && matches!(shard.phase, Phase::Owned { .. } | Phase::Revoking { .. })
        })
    }
}
