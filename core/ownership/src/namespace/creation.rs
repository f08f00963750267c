//! Who owns a shard? Usually the map answers; this file answers when the map
//! does not know: the shard is between two owners, or is ephemeral and new.

use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{Action, Outcome};
use crate::ids::{RequestId, ShardId};
use crate::record::Kind;
use crate::shard::{Next, Phase};

impl Namespace {
    /// Finds or makes the owner of a shard. Answered at once if it has one, and
    /// otherwise when it has.
    pub fn locate(&mut self, now: Time, request: RequestId, key: &str) {
        if self.drained_shards.contains_key(key) {
            return self.answer(request, Outcome::Drained);
        }
        match self.shard_id(key) {
            Some(id) => self.locate_known(now, request, id),
            None if self.kind == Kind::Ephemeral && self.is_valid_key(key) => {
                let id = self.add_shard(Arc::from(key), now);
                self.wait_for_owner(now, request, id);
            }
            None => self.answer(request, Outcome::NotFound),
        }
    }

    /// Nobody waits for these answers any more.
    pub fn forget_requests(&mut self, gone: &BTreeSet<RequestId>) {
        let mut deserted = Vec::new();
        self.waiters.retain(|shard, requests| {
            requests.retain(|waiting| !gone.contains(waiting));
            if requests.is_empty() {
                deserted.push(*shard);
            }
            !requests.is_empty()
        });
        for shard in deserted {
            self.forget_if_never_granted(shard);
        }
    }

    fn locate_known(&mut self, now: Time, request: RequestId, id: ShardId) {
        let Some(shard) = self.shard(id) else { return };
        match shard.phase {
            _ if shard.drained => self.answer(request, Outcome::Drained),
            // It is granted anew to whoever comes back for it, or to another.
            Phase::Owned { .. } if shard.owner.is_some_and(|owner| self.is_away(owner)) => {
                self.waiters.entry(id).or_default().push(request);
            }
            Phase::Owned { .. } => self.answer_with_owner(request, id),
            // It is asked for again before it is gone: it stays.
            Phase::Revoking { next: Next::Release, .. } => {
                self.redirect(id, Next::Anyone);
                self.waiters.entry(id).or_default().push(request);
            }
            // The present owner answers until the next one may.
            Phase::Revoking { .. } => self.answer_with_owner(request, id),
            Phase::Unowned => self.wait_for_owner(now, request, id),
            Phase::Granting | Phase::Releasing => {
                self.waiters.entry(id).or_default().push(request);
            }
        }
    }

    fn wait_for_owner(&mut self, now: Time, request: RequestId, id: ShardId) {
        let somebody_may_come = !self.may_place(now);
        if !somebody_may_come && self.open_executors().next().is_none() {
            self.answer(request, Outcome::NoExecutor);
            return self.forget_if_never_granted(id);
        }
        self.waiters.entry(id).or_default().push(request);
        if self.unowned.contains(&id) {
            self.forced_due = true;
        }
    }

    /// An ephemeral shard that was only asked for leaves no trace.
    pub(super) fn forget_if_never_granted(&mut self, id: ShardId) {
        let never = self.shard(id).is_some_and(|shard| shard.generation == 0);
        if never && self.kind == Kind::Ephemeral && !self.waiters.contains_key(&id) {
            self.remove_shard(id);
        }
    }

    fn answer_with_owner(&mut self, request: RequestId, id: ShardId) {
        let owner = self.shard(id).and_then(|shard| self.executor(shard.owner?));
        let outcome = match (self.shard(id), owner) {
            (Some(shard), Some(owner)) => Outcome::Owner {
                executor: owner.id.clone(),
                generation: shard.generation,
                metadata: owner.metadata.clone(),
            },
            (_, _) => Outcome::NoExecutor,
        };
        self.answer(request, outcome);
    }

    pub(super) fn answer(&mut self, request: RequestId, outcome: Outcome) {
        self.actions.push_back(Action::Answer { request, outcome });
    }
}
