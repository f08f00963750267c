//! Forced work: shards that have nobody or must leave, placed by load at once
//! and not at the next cycle. Costs nothing for the shards that stay.

use std::time::Duration;

use plimsoll_placement::plan::MoveReason;
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::Candidacy;

use super::Namespace;
use super::choosing::Chooser;
use crate::action::Outcome;
use crate::executor::Executor;
use crate::ids::{ExecutorId, ShardId};
use crate::shard::Because;

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
        self.drop_hopeless_preparations();
        let mut chooser = self.chooser();
        self.place_unowned(now, &mut chooser);
        self.evacuate(now, &mut chooser);
    }

    fn nobody_is_open(&mut self) {
        let waiting: Vec<_> =
            self.waiters.keys().copied().filter(|id| self.unowned.contains(id)).collect();
        for id in waiting {
            self.answer_waiters(id, &Outcome::NoExecutor);
            self.forget_if_never_granted(id);
        }
    }

    fn place_unowned(&mut self, now: Time, chooser: &mut Chooser) {
        let ready: Vec<_> =
            self.unowned.iter().copied().filter(|id| self.may_retry(now, *id)).collect();
        for id in self.largest_first(ready) {
            self.place_one(now, id, chooser);
        }
    }

    pub(super) fn place_one(&mut self, now: Time, id: ShardId, chooser: &mut Chooser) {
        let Some(shard) = self.shard(id) else { return };
        let never_owned = shard.generation == 0 && self.waiters.contains_key(&id);
        let because =
            if never_owned { Because::Created } else { Because::Moved(MoveReason::Unowned) };
        if let Some(to) = self.ask(chooser, id) {
            self.grant(now, id, to, because);
        }
    }

    fn evacuate(&mut self, now: Time, chooser: &mut Chooser) {
        let leaving: Vec<_> = self
            .executors
            .iter()
            .filter_map(|(slot, executor)| Some((ExecutorId::of(slot), must_empty(executor)?)))
            .collect();
        for (executor, reason) in leaving {
            for id in self.largest_first(self.shards_of(executor).to_vec()) {
                self.move_away(now, id, reason, chooser);
            }
        }
    }

    fn move_away(&mut self, now: Time, id: ShardId, reason: MoveReason, chooser: &mut Chooser) {
        let on_its_way = self.preparations.get(id).is_some();
        if on_its_way || !self.shard(id).is_some_and(|shard| self.is_tellable(shard)) {
            return;
        }
        if let Some(to) = self.ask(chooser, id) {
            self.move_to(now, id, to, reason);
        }
    }

    pub(super) fn ask(&self, chooser: &mut Chooser, id: ShardId) -> Option<ExecutorId> {
        let shard = self.shard(id)?;
        let load = shard.is_measured().then(|| shard.smoothed());
        chooser.choose(key_hash(&shard.key), load)
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
