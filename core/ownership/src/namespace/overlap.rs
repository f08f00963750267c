//! Two leaders at once. One whose port refuses connections is replaced as if it were
//! dead, but its process may live, behind a firewall that rejects. It can store nothing
//! more; until its confidence is over it may still tell what it knew: a grant that was
//! stored and never told, and, to executors that send unary heartbeats, any grant.
//!
//! So a cold leader leaves what it has *inherited* where the records have it for as
//! long: such a shard is given to nobody, not even to its owner under a new generation,
//! and what would end its grant waits. An owner with a session that names the very
//! grant in its hello ends the doubt: the leader before has told it, and would have to
//! store another grant before it could tell any again. New shards, and those that this
//! leader has granted, are as ever.

use plimsoll_placement::time::Time;

use super::Namespace;
use super::session::Holding;
use crate::action::{Farewell, RevokeReason, Tell};
use crate::executor::{Executor, Link};
use crate::ids::{ExecutorId, ShardId};
use crate::shard::{Next, Shard};

impl Namespace {
    /// Whether the leader before may still tell somebody that the shard is its owner's.
    pub(super) fn is_inherited(&self, id: ShardId) -> bool {
        self.overlap_until.is_some() && self.shard(id).is_some_and(|shard| shard.inherited)
    }

    /// Whether that may be so of any shard of this executor.
    pub(super) fn has_inherited(&self, id: ExecutorId) -> bool {
        self.shards_of(id).iter().any(|shard| self.is_inherited(*shard))
    }

    /// Its owner says in a hello that it runs the shard: what was put off is due.
    pub(super) fn named_by_owner(&mut self, now: Time, id: ShardId, holding: &Holding) {
        if !self.is_inherited(id) {
            return;
        }
        let Some(shard) = self.shard_mut(id) else { return };
        if shard.generation != holding.generation {
            return;
        }
        shard.inherited = false;
        let put_off = match (shard.drained, self.reset_in_overlap) {
            (true, _) => Some((Next::Release, RevokeReason::ShardDrain)),
            (false, true) => Some((self.after_reset(), RevokeReason::Reset)),
            (false, false) => None,
        };
        // It is told after its welcome.
        if let Some((next, reason)) = put_off {
            self.revoke_untold(now, id, next, reason);
        }
    }

    /// It says goodbye, and a process that comes after it under its name may yet hear
    /// from the leader before: what is inherited waits for its lease.
    pub(super) fn part_in_overlap(&mut self, now: Time, id: ExecutorId, returning: bool) {
        self.tell(id, Tell::Farewell(Farewell::Goodbye));
        self.drop_preparations_at(id);
        if let Some(session) = self.executor(id).and_then(Executor::session) {
            self.session_closed(session);
        }
        for shard in self.shards_of(id).to_vec() {
            if !returning && !self.is_inherited(shard) {
                self.bereave(now, shard);
            }
        }
        self.forced_due = true;
    }

    /// The leader before has fallen silent. What was put off is done now.
    pub(super) fn end_overlap(&mut self, now: Time) {
        if self.overlap_until.is_none_or(|until| now < until) {
            return;
        }
        self.overlap_until = None;
        let inherited = self.shards.iter_mut().filter(|(_, shard)| shard.inherited);
        let inherited: Vec<_> = inherited
            .map(|(slot, shard)| {
                shard.inherited = false;
                ShardId::of(slot)
            })
            .collect();
        let reset = std::mem::take(&mut self.reset_in_overlap);
        for id in inherited {
            self.catch_up_with(now, id, reset);
        }
        self.forced_due = true;
        self.cycle_soon(now);
    }

    fn catch_up_with(&mut self, now: Time, id: ShardId, reset: bool) {
        let Some(shard) = self.shard(id) else { return };
        let owner = shard.owner.and_then(|owner| self.executor(owner));
        let unnamed = owner.is_some_and(|owner| matches!(owner.link, Link::Session(Some(_))));
        if shard.drained {
            self.revoke(now, id, Next::Release, RevokeReason::ShardDrain);
        } else if reset {
            self.revoke(now, id, self.after_reset(), RevokeReason::Reset);
        } else if unnamed {
            self.ask_for_stop(now, id);
        }
    }

    /// The owner says whether it runs the shard by stopping it, and gets it anew.
    fn ask_for_stop(&mut self, now: Time, id: ShardId) {
        self.revoke_untold(now, id, Next::Anyone, RevokeReason::Stopping);
        let Some(shard) = self.shard(id) else { return };
        if let (Some(owner), Some(message)) = (shard.owner, self.revocation(shard)) {
            self.tell(owner, message);
        }
    }

    /// Whether this leader may tell the shard's owner that it is its.
    pub(super) fn is_tellable(&self, shard: &Shard) -> bool {
        shard.is_owned() && !(shard.inherited && self.overlap_until.is_some())
    }
}
