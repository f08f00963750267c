//! Forced work: shards that have nobody or must leave, placed by load at once
//! and not at the next cycle. Costs nothing for the shards that stay.

use std::time::Duration;

use plimsoll_placement::placer::{Candidate, Placer, Tally};
use plimsoll_placement::plan::MoveReason;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex};

use super::Namespace;
use crate::action::{Outcome, RevokeReason};
use crate::executor::Executor;
use crate::ids::{ExecutorId, ShardId};
use crate::shard::{Because, Next};

/// How long the first executors of a namespace wait for the others, so that
/// the first does not get everything.
const GATHER: Duration = Duration::from_millis(300);
/// The longest that this takes while executors keep coming.
const GATHER_AT_MOST: Duration = Duration::from_secs(2);

/// The wait for the other executors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathering {
    pub(super) until: Time,
    latest: Time,
}

/// What is known of a shard that failed to start.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) count: u32,
    pub(super) retry_at: Time,
    pub(super) error: String,
}

impl Namespace {
    /// Whether enough is known to place shards that have no owner.
    pub(super) fn may_place(&self, now: Time) -> bool {
        !self.adopting && self.gathering.is_none_or(|gathering| now >= gathering.until)
    }

    pub(super) fn end_gathering(&mut self, now: Time) {
        if self.gathering.is_some_and(|gathering| now >= gathering.until) {
            self.gathering = None;
            self.forced_due = true;
        }
    }

    /// An executor came that may carry shards.
    pub(super) fn gather(&mut self, now: Time) {
        self.forced_due = true;
        let others = self.open_executors().count() > 1;
        self.gathering = match self.gathering {
            Some(Gathering { until, latest }) if now < until => {
                Some(Gathering { until: (now + GATHER).min(latest), latest })
            }
            None | Some(_) if !others && !self.unowned.is_empty() => {
                Some(Gathering { until: now + GATHER, latest: now + GATHER_AT_MOST })
            }
            None | Some(_) => None,
        };
    }

    pub(super) fn open_executors(&self) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        let all = self.executors.iter().map(|(slot, executor)| (ExecutorId::of(slot), executor));
        all.filter(|(_, executor)| executor.candidacy() == Candidacy::Open)
    }

    /// Places every shard without owner and empties every executor that must be
    /// empty. If nobody is open, everything stays as it is.
    pub(super) fn place_forced(&mut self, now: Time) {
        self.gathering = None;
        if self.open_executors().next().is_none() {
            return self.nobody_is_open();
        }
        let mut placer = self.placer();
        self.place_unowned(now, &mut placer);
        self.evacuate(now, &mut placer);
    }

    fn nobody_is_open(&mut self) {
        let waiting: Vec<_> =
            self.waiters.keys().copied().filter(|id| self.unowned.contains(id)).collect();
        for id in waiting {
            self.answer_waiters(id, &Outcome::NoExecutor);
            self.forget_if_never_granted(id);
        }
    }

    fn place_unowned(&mut self, now: Time, placer: &mut Placer) {
        let ready: Vec<_> =
            self.unowned.iter().copied().filter(|id| self.may_retry(now, *id)).collect();
        for id in self.largest_first(ready) {
            self.place_one(now, id, placer);
        }
    }

    pub(super) fn place_one(&mut self, now: Time, id: ShardId, placer: &mut Placer) {
        let Some(shard) = self.shard(id) else { return };
        let never_owned = shard.generation == 0 && self.waiters.contains_key(&id);
        let because =
            if never_owned { Because::Created } else { Because::Moved(MoveReason::Unowned) };
        if let Some(to) = self.ask(placer, id) {
            self.grant(now, id, to, because);
        }
    }

    fn evacuate(&mut self, now: Time, placer: &mut Placer) {
        let leaving: Vec<_> = self
            .executors
            .iter()
            .filter_map(|(slot, executor)| Some((ExecutorId::of(slot), must_empty(executor)?)))
            .collect();
        for (executor, reason) in leaving {
            for id in self.largest_first(self.shards_of(executor).to_vec()) {
                self.move_away(now, id, reason, placer);
            }
        }
    }

    fn move_away(&mut self, now: Time, id: ShardId, reason: MoveReason, placer: &mut Placer) {
        if !self.shard(id).is_some_and(|shard| shard.is_owned()) {
            return;
        }
        if let Some(to) = self.ask(placer, id) {
            self.revoke(now, id, Next::To(to, reason), RevokeReason::Move(reason));
        }
    }

    fn ask(&self, placer: &mut Placer, id: ShardId) -> Option<ExecutorId> {
        let shard = self.shard(id)?;
        let load = shard.is_measured().then(|| shard.smoothed());
        placer.place(key_hash(&shard.key), load).map(|index| ExecutorId(index.0))
    }

    /// A placer over the open executors, from the running sums.
    pub(super) fn placer(&self) -> Placer {
        let mean = self.mean_shard_load();
        let candidates = self.open_executors().map(|(id, executor)| Candidate {
            index: ExecutorIndex(id.0),
            id: executor.id.clone(),
            tally: tally(executor, mean),
            capacity: executor.capacity(&self.settings),
        });
        Placer::new(self.settings.policy.mode, candidates, mean)
    }

    /// Over the measured shards; 0 if there are none.
    fn mean_shard_load(&self) -> f64 {
        let (load, measured) = self.executors.iter().fold((0.0, 0), |(load, measured), (_, e)| {
            (load + e.load.max(0.0), measured + e.measured)
        });
        if measured == 0 { 0.0 } else { load / measured as f64 }
    }

    /// Largest first: the small ones then fill the gaps.
    fn largest_first(&self, mut shards: Vec<ShardId>) -> Vec<ShardId> {
        let load = |id: &ShardId| self.shard(*id).map_or(0.0, |shard| shard.smoothed());
        shards.sort_by(|a, b| load(b).total_cmp(&load(a)).then(a.cmp(b)));
        shards
    }

    fn may_retry(&self, now: Time, id: ShardId) -> bool {
        self.failures.get(&id).is_none_or(|failure| now >= failure.retry_at)
    }

    /// When the next failed shard may be tried again; `None` also if there is
    /// nobody to try, or if nothing is placed yet anyway.
    pub(super) fn next_retry(&self) -> Option<Time> {
        let waits = self.adopting || self.gathering.is_some();
        if self.failures.is_empty() || waits || self.open_executors().next().is_none() {
            return None;
        }
        let waiting = self.failures.iter().filter(|(id, _)| self.unowned.contains(id));
        waiting.map(|(_, failure)| failure.retry_at).min()
    }

    /// Failed shards whose time has come are forced work.
    pub(super) fn retry_failed(&mut self, now: Time) {
        if self.next_retry().is_some_and(|time| now >= time) {
            self.forced_due = true;
        }
    }
}

fn must_empty(executor: &Executor) -> Option<MoveReason> {
    match executor.candidacy() {
        Candidacy::Drained => Some(MoveReason::HostDrained),
        Candidacy::Leaving => Some(MoveReason::ExecutorLeaving),
        Candidacy::Open | Candidacy::Silent => None,
    }
}

fn tally(executor: &Executor, mean: f64) -> Tally {
    let unmeasured = executor.shards.len() - executor.measured;
    Tally { load: executor.load.max(0.0) + unmeasured as f64 * mean, shards: executor.shards.len() }
}
