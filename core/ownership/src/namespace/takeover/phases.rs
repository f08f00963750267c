//! Where shards are between two owners, as a state that travels and back.

use plimsoll_placement::time::Time;

use super::{Places, before};
use crate::action::RevokeReason;
use crate::handover::{NextState, PhaseState, ShardState};
use crate::ids::{ExecutorId, ShardId};
use crate::namespace::Namespace;
use crate::record::{GrantRecord, Write};
use crate::shard::{Because, Next, Phase, Shard};

// === impl Namespace: the old leader ===

impl Namespace {
    pub(super) fn phase_state(
        &self,
        now: Time,
        id: ShardId,
        shard: &Shard,
        places: &Places,
    ) -> PhaseState {
        match shard.phase {
            Phase::Granting => PhaseState::Granting,
            Phase::Unowned | Phase::Releasing => PhaseState::Unowned,
            Phase::Owned { told } => {
                self.preparing_state(now, id, places).unwrap_or(PhaseState::Owned { told })
            }
            Phase::Revoking { next, reason, told } => {
                let next = next_state(next, places);
                PhaseState::Revoking { next, reason, told }
            }
        }
    }

    fn preparing_state(&self, now: Time, id: ShardId, places: &Places) -> Option<PhaseState> {
        let it = self.preparations.get(id)?;
        let to = places.get(it.to.slot()).copied().flatten()?;
        Some(PhaseState::Preparing { to, reason: it.reason, left: it.until - now })
    }
}

fn next_state(next: Next, places: &Places) -> NextState {
    match next {
        Next::To(to, reason) => match places.get(to.slot()).copied().flatten() {
            Some(to) => NextState::To(to, reason),
            None => NextState::Anyone,
        },
        Next::Anyone => NextState::Anyone,
        Next::Release => NextState::Release,
    }
}

// === impl Namespace: the next leader ===

impl Namespace {
    pub(super) fn restore_phase(
        &mut self,
        now: Time,
        id: ShardId,
        state: &ShardState,
        grant: Option<&GrantRecord>,
        executors: &[ExecutorId],
    ) {
        let place = |place: u32| executors.get(place as usize).copied();
        let owner = state.owner.and_then(place);
        let (phase, owner) = match (state.phase, owner) {
            (PhaseState::Owned { told }, Some(owner)) => (Phase::Owned { told }, owner),
            (PhaseState::Preparing { .. }, Some(owner)) => (Phase::Owned { told: true }, owner),
            (PhaseState::Revoking { next, reason, told }, Some(owner)) => {
                let next = match next {
                    NextState::To(to, why) => {
                        place(to).map_or(Next::Anyone, |to| Next::To(to, why))
                    }
                    NextState::Anyone => Next::Anyone,
                    NextState::Release => Next::Release,
                };
                (Phase::Revoking { next, reason, told }, owner)
            }
            (PhaseState::Granting, Some(owner)) => {
                return self.restore_granting(now, id, owner, grant);
            }
            (PhaseState::Unowned, _) | (_, None) => return self.restore_unowned(now, id, grant),
        };
        self.restore_owner(now, id, owner, state, grant);
        let Some(shard) = self.shard_mut(id) else { return };
        shard.phase = match phase {
            Phase::Owned { .. } if shard.drained && !shard.inherited => {
                let (next, reason) = (Next::Release, RevokeReason::ShardDrain);
                Phase::Revoking { next, reason, told: false }
            }
            Phase::Revoking { reason, told, .. } if shard.drained => {
                Phase::Revoking { next: Next::Release, reason, told }
            }
            phase => phase,
        };
        if let PhaseState::Preparing { to, reason, left } = state.phase
            && let Some(to) = place(to)
            && self.shard(id).is_some_and(|shard| shard.is_owned())
        {
            self.resume_preparing(now, id, to, reason, now + left);
        }
    }

    fn restore_owner(
        &mut self,
        now: Time,
        id: ShardId,
        owner: ExecutorId,
        state: &ShardState,
        stored: Option<&GrantRecord>,
    ) {
        self.attach(id, owner);
        let Some(executor) = self.executor(owner).map(|executor| executor.id.clone()) else {
            return;
        };
        let overlaps = self.overlap_until.is_some();
        let Some(shard) = self.shard_mut(id) else { return };
        shard.because = Because::Restored;
        shard.since = before(now, state.since);
        shard.reported_running = state.reported_running;
        shard.inherited = state.inherited && overlaps;
        let grant = GrantRecord { executor, generation: shard.generation };
        // It runs: the record follows the fact.
        if stored != Some(&grant) {
            let shard = shard.key.clone();
            self.journal.write(Write::Grant { shard, grant });
        }
    }

    /// A grant that is stored with its very generation was never told to anybody; one
    /// that is not is made again.
    fn restore_granting(
        &mut self,
        now: Time,
        id: ShardId,
        owner: ExecutorId,
        grant: Option<&GrantRecord>,
    ) {
        let Some(shard) = self.shard(id) else { return };
        let stored = grant.is_some_and(|grant| grant.generation == shard.generation);
        let drained = shard.drained;
        if !stored {
            self.legacies.await_grant(id);
        }
        if drained || !stored && !self.is_open(owner) {
            return self.restore_unowned(now, id, grant);
        }
        if !stored {
            return self.grant(now, id, owner, Because::Restored);
        }
        self.attach(id, owner);
        if let Some(shard) = self.shard_mut(id) {
            shard.because = Because::Restored;
            shard.enter(Phase::Owned { told: false }, now);
        }
    }

    /// Its record goes with a drain, as its grant has ended.
    fn restore_unowned(&mut self, now: Time, id: ShardId, grant: Option<&GrantRecord>) {
        if grant.is_some() && self.shard(id).is_some_and(|shard| shard.drained) {
            self.release(now, id);
        }
    }
}
