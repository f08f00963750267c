//! Executors that said goodbye and come back, as in a rolling restart: their
//! shards are kept for them for a while, and nobody runs them meanwhile.

use std::time::Duration;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{Farewell, RouteChange, Tell};
use crate::event::What;
use crate::executor::Link;
use crate::ids::{ExecutorId, ShardId};
use crate::shard::Phase;

impl Namespace {
    /// Whether shards are kept for executors that come back.
    pub(super) fn keeps_for_the_returning(&self) -> bool {
        !self.settings.restart_grace.is_zero()
    }

    /// Whether it said that it runs nothing and comes back.
    pub(super) fn is_away(&self, id: ExecutorId) -> bool {
        self.executor(id).is_some_and(|executor| executor.away_until.is_some())
    }

    /// How much longer its shards are kept for it; `None`: it is not away.
    pub(super) fn away_for(&self, now: Time, id: ExecutorId) -> Option<Duration> {
        self.executor(id)?.away_until.map(|until| until - now)
    }

    /// It runs nothing and comes back.
    pub(super) fn begin_absence(&mut self, now: Time, id: ExecutorId) {
        let grace = self.settings.restart_grace;
        let detail = format!("it comes back: its shards are kept for it for {grace:.1?}");
        self.note_executor(now, What::Away, id, detail);
        self.tell(id, Tell::Farewell(Farewell::Goodbye));
        self.drop_preparations_at(id);
        let Some(executor) = self.executor_mut(id) else { return };
        let session = executor.session();
        executor.link = Link::Session(None);
        executor.leaving = false;
        executor.away_until = Some(now + grace);
        if let Some(session) = session {
            self.sessions.remove(&session);
        }
        self.next_expiry = self.next_expiry.min(now + grace);
        for shard in self.shards_of(id).to_vec() {
            self.leave_alone(now, shard);
        }
        self.forced_due = true;
    }

    /// Nobody runs the shard, and nobody but its owner is to.
    fn leave_alone(&mut self, now: Time, id: ShardId) {
        match self.shard(id).map(|shard| shard.phase) {
            Some(Phase::Owned { .. }) => self.keep_for_the_returning(id),
            Some(Phase::Revoking { .. }) => self.confirmed(now, id),
            Some(Phase::Unowned | Phase::Granting | Phase::Releasing) | None => {}
        }
    }

    /// There is nothing to stop, should it have to move meanwhile.
    pub(super) fn keep_for_the_returning(&mut self, id: ShardId) {
        self.end_preparing(id);
        let Some(shard) = self.shard_mut(id) else { return };
        shard.phase = Phase::Owned { told: false };
        let shard = shard.key.clone();
        self.route(RouteChange::Unowned { shard });
    }

    /// It is heard again. Whether it was away: then it runs nothing and must be
    /// granted what was kept for it under new generations.
    pub(super) fn end_absence(&mut self, id: ExecutorId) -> bool {
        let executor = self.executor_mut(id);
        executor.is_some_and(|executor| executor.away_until.take().is_some())
    }
}
