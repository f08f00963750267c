//! Granting, revoking and confirming: the only file in which a shard changes its
//! owner.
//!
//! ```text
//! Unowned ──grant──▶ Granting ──stored──▶ Owned ──revoke──▶ Revoking
//!    ▲                   ▲                  │                  │ confirmed
//!    │                   └──────────────────┼──── To, Anyone ──┤
//!    └── owner dead or gone ◀───────────────┘                  │ Release
//!    └────────────────── Releasing ◀───────────────────────────┘
//! ```

use plimsoll_placement::plan::MoveReason;
use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{Action, Outcome, RevokeReason, RouteChange, Tell};
use crate::event::What;
use crate::executor::Executor;
use crate::ids::{ExecutorId, ShardId};
use crate::journal::Consequence;
use crate::message::Grant as GrantMessage;
use crate::record::{GrantRecord, Kind, Write};
use crate::shard::{Because, Next, Phase, Shard};

/// How many generations are reserved in the store at a time. A restart skips
/// what is left of them.
const GENERATION_BLOCK: u64 = 10_000;

impl Namespace {
    /// Begins to give a shard that nobody runs to an executor.
    pub(super) fn grant(&mut self, now: Time, id: ShardId, to: ExecutorId, because: Because) {
        let Some(executor) = self.executor(to).map(|executor| executor.id.clone()) else { return };
        let generation = self.next_generation();
        self.attach(id, to);
        self.legacies.granted(id, generation);
        let Some(shard) = self.shard_mut(id) else { return };
        shard.generation = generation;
        shard.because = because;
        shard.inherited = false;
        shard.enter(Phase::Granting, now);
        let write =
            Write::Grant { shard: shard.key.clone(), grant: GrantRecord { executor, generation } };
        self.journal.write(write);
        self.journal.then(Consequence::Granted { shard: id, generation });
    }

    /// A grant is stored: now the owner may know.
    pub(super) fn granted(&mut self, now: Time, id: ShardId, generation: u64) {
        let Some(shard) = self.shard_mut(id) else { return };
        if shard.generation != generation || shard.phase != Phase::Granting {
            return;
        }
        let Some(owner) = shard.owner else {
            return self.orphan(now, id);
        };
        shard.enter(Phase::Owned { told: false }, now);
        // Whoever comes back for it is granted it anew.
        if self.is_away(owner) {
            self.keep_for_the_returning(id);
        } else {
            self.publish_grant(now, id, owner);
            self.tell_grant(id, owner);
        }
        self.reconsider(now, id, owner);
    }

    fn publish_grant(&mut self, now: Time, id: ShardId, owner: ExecutorId) {
        let (Some(shard), Some(executor)) = (self.shard(id), self.executor(owner)) else { return };
        let change = RouteChange::Owned {
            shard: shard.key.clone(),
            executor: executor.id.clone(),
            generation: shard.generation,
        };
        let outcome = Outcome::Owner {
            executor: executor.id.clone(),
            generation: shard.generation,
            metadata: executor.metadata.clone(),
        };
        let because = shard.because;
        self.route(change);
        self.note_grant(now, id, because);
        self.answer_waiters(id, &outcome);
    }

    fn note_grant(&mut self, now: Time, id: ShardId, because: Because) {
        let what = if because == Because::Adopted { What::Adopted } else { What::Granted };
        self.note_shard(now, what, id, because.as_str());
        if let Because::Moved(reason) = because {
            let load = self.shard(id).map_or(0.0, |shard| shard.smoothed());
            self.stats.moved(reason, load);
        }
    }

    fn tell_grant(&mut self, id: ShardId, owner: ExecutorId) {
        let in_touch = self.executor(owner).is_some_and(|executor| executor.session().is_some());
        let Some(shard) = self.shard_mut(id) else { return };
        if in_touch {
            shard.phase = Phase::Owned { told: true };
            if let Some(message) = self.grant_message(id) {
                self.tell(owner, Tell::Granted(message));
            }
        }
    }

    /// The grant that a shard has now, as its owner is told of it.
    pub(super) fn grant_message(&self, id: ShardId) -> Option<GrantMessage> {
        let shard = self.shard(id)?;
        let (state, previous) = self.legacies.of(id, shard.generation);
        let (shard, generation) = (shard.key.clone(), shard.generation);
        Some(GrantMessage { shard, generation, state, previous })
    }

    /// The revocation that a shard is under, as its owner is told of it.
    pub(super) fn revocation(&self, shard: &Shard) -> Option<Tell> {
        let Phase::Revoking { next, reason, .. } = shard.phase else { return None };
        let next = match next {
            Next::To(to, _) => self.executor(to).map(Executor::as_next_owner),
            Next::Anyone | Next::Release => None,
        };
        let (shard, generation) = (shard.key.clone(), shard.generation);
        Some(Tell::Revoked { shard, generation, reason, next })
    }

    /// What has changed while the grant was being stored?
    fn reconsider(&mut self, now: Time, id: ShardId, owner: ExecutorId) {
        if self.shard(id).is_some_and(|shard| shard.drained) {
            self.revoke(now, id, Next::Release, RevokeReason::ShardDrain);
        } else if self.executor(owner).is_some_and(|executor| executor.candidacy().must_empty()) {
            self.forced_due = true;
        }
    }

    /// Tells the owner to stop. An owner that cannot have heard of the grant
    /// has nothing to stop. What is inherited stays for now.
    pub(super) fn revoke(&mut self, now: Time, id: ShardId, next: Next, reason: RevokeReason) {
        if self.is_inherited(id) {
            return;
        }
        let Some(shard) = self.shard_mut(id) else { return };
        let (Phase::Owned { told }, Some(owner)) = (shard.phase, shard.owner) else { return };
        let served = now - shard.since;
        shard.enter(Phase::Revoking { next, reason, told: false }, now);
        self.end_preparing(id);
        self.acquit(id, served);
        self.note_shard(now, What::Revoked, id, reason.as_str());
        if !told {
            return self.confirmed(now, id);
        }
        if self.executor(owner).is_some_and(|executor| executor.session().is_some()) {
            self.mark_revocation_told(id);
            if let Some(message) = self.shard(id).and_then(|shard| self.revocation(shard)) {
                self.tell(owner, message);
            }
        }
    }

    /// The owner may know now that it must stop.
    pub(super) fn mark_revocation_told(&mut self, id: ShardId) {
        let Some(shard) = self.shard_mut(id) else { return };
        if let Phase::Revoking { told, .. } = &mut shard.phase {
            *told = true;
        }
    }

    /// Changes what becomes of a shard in handover.
    pub(super) fn redirect(&mut self, id: ShardId, to: Next) {
        let Some(shard) = self.shard_mut(id) else { return };
        if let Phase::Revoking { next, .. } = &mut shard.phase {
            *next = to;
        }
    }

    /// The owner has stopped the shard.
    pub(super) fn confirmed(&mut self, now: Time, id: ShardId) {
        let Some(shard) = self.shard(id) else { return };
        let Phase::Revoking { next, reason, .. } = shard.phase else { return };
        let (owner, because) = (shard.owner, shard.because);
        self.note_shard(now, What::Stopped, id, "");
        match (next, owner) {
            // It heard nothing for a lease and stopped by itself, no more than that. (Who
            // else runs it is not known yet where the store has forgotten.)
            (Next::Anyone, Some(owner))
                if reason == RevokeReason::Stopping && !self.adopting && self.is_open(owner) =>
            {
                self.grant(now, id, owner, because);
            }
            (Next::Release, _) => self.release(now, id),
            (Next::To(to, reason), _) if self.is_open(to) => {
                self.note_move(now, id, reason);
                self.grant(now, id, to, Because::Moved(reason));
            }
            (Next::To(..) | Next::Anyone, _) => self.orphan(now, id),
        }
    }

    fn note_move(&mut self, now: Time, id: ShardId, reason: MoveReason) {
        let for_balance =
            matches!(reason, MoveReason::Balance | MoveReason::Exchange | MoveReason::FillEmpty);
        if let Some(shard) = self.shard_mut(id).filter(|_| for_balance) {
            shard.moved(now);
        }
    }

    /// Nobody runs the shard any more and somebody should.
    pub(super) fn orphan(&mut self, now: Time, id: ShardId) {
        self.detach(id);
        let Some(shard) = self.shard_mut(id) else { return };
        if shard.drained {
            return self.release(now, id);
        }
        shard.enter(Phase::Unowned, now);
        let key = shard.key.clone();
        self.unowned.insert(id);
        self.route(RouteChange::Unowned { shard: key });
        self.forced_due = true;
    }

    /// Begins to end the grant of a shard that nobody runs.
    pub(super) fn release(&mut self, now: Time, id: ShardId) {
        self.detach(id);
        self.legacies.forget(id);
        let Some(shard) = self.shard_mut(id) else { return };
        shard.enter(Phase::Releasing, now);
        let key = shard.key.clone();
        self.route(RouteChange::Unowned { shard: key.clone() });
        self.journal.write(Write::Release { shard: key });
        self.journal.then(Consequence::Released { shard: id });
    }

    /// The end of a grant is stored.
    pub(super) fn released(&mut self, now: Time, id: ShardId) {
        let asked_for = self.waiters.contains_key(&id);
        let Some(shard) = self.shard_mut(id) else { return };
        if shard.phase != Phase::Releasing {
            return;
        }
        let drained = shard.drained;
        shard.enter(Phase::Unowned, now);
        if drained {
            self.answer_waiters(id, &Outcome::Drained);
        }
        if self.kind == Kind::Ephemeral && (drained || !asked_for) {
            self.remove_shard(id);
        } else if !drained {
            self.unowned.insert(id);
            self.forced_due = true;
        }
    }

    pub(super) fn answer_waiters(&mut self, id: ShardId, outcome: &Outcome) {
        for request in self.waiters.remove(&id).unwrap_or_default() {
            self.actions.push_back(Action::Answer { request, outcome: outcome.clone() });
        }
    }

    pub(super) fn is_open(&self, id: ExecutorId) -> bool {
        self.executor(id).is_some_and(|executor| executor.candidacy().is_open())
    }

    /// No generation is granted from now on that is not above this one.
    pub(super) fn never_below(&mut self, generation: u64) -> u64 {
        self.generation = self.generation.max(generation);
        if self.generation > self.generation_reserved {
            self.reserve_generations();
        }
        generation
    }

    /// The next generation; the store learns a bound of it in the same batch.
    pub(super) fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        if self.generation > self.generation_reserved {
            self.reserve_generations();
        }
        self.generation
    }

    fn reserve_generations(&mut self) {
        self.generation_reserved = self.generation + GENERATION_BLOCK;
        self.journal.write(Write::GenerationFloor(self.generation_reserved));
    }
}
