//! What the owner before leaves to the next: its name, and its state if it gives
//! one. Kept in memory only, between the stop of the one and the start of the
//! other, and for the first grant after the stop alone: whoever came between may
//! have changed what the state describes.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::event::What;
use crate::handover::LegacyState;
use crate::ids::ShardId;
use crate::message::{MAX_STATE_BYTES, State};
use crate::shard::{Because, Next, Phase};

/// The most that may be kept of all shards together, in bytes.
const MOST_BYTES: usize = 64 * MAX_STATE_BYTES;
/// The most of it that is handed over to the next leader.
const MOST_HANDED_BYTES: usize = 16 * MAX_STATE_BYTES;

#[derive(Debug, Default)]
pub(super) struct Legacies {
    all: BTreeMap<ShardId, Legacy>,
    /// Of all states together.
    bytes: usize,
}

#[derive(Debug)]
struct Legacy {
    from: Arc<str>,
    state: Option<State>,
    /// Of the grant that brings it; `None`: there is none yet.
    generation: Option<u64>,
}

impl Legacies {
    /// Whether there was room for the state.
    fn leave(&mut self, id: ShardId, from: Arc<str>, state: Option<State>) -> bool {
        self.forget(id);
        let bytes = state.as_ref().map_or(0, |state| state.len());
        let fits = bytes <= MAX_STATE_BYTES && self.bytes + bytes <= MOST_BYTES;
        let state = state.filter(|_| fits);
        self.bytes += state.as_ref().map_or(0, |state| state.len());
        self.all.insert(id, Legacy { from, state, generation: None });
        fits
    }

    /// The shard is granted: to the heir, or to somebody after it.
    pub(super) fn granted(&mut self, id: ShardId, generation: u64) {
        match self.all.get_mut(&id) {
            Some(legacy) if legacy.generation.is_none() => legacy.generation = Some(generation),
            Some(_) => self.forget(id),
            None => {}
        }
    }

    /// The grant that was to bring it was never told: the next one does.
    pub(super) fn await_grant(&mut self, id: ShardId) {
        if let Some(legacy) = self.all.get_mut(&id) {
            legacy.generation = None;
        }
    }

    /// All of them for the next leader; states beyond a bound are left behind.
    pub(super) fn to_state(&self) -> BTreeMap<ShardId, LegacyState> {
        let mut room = MOST_HANDED_BYTES;
        let all = self.all.iter().map(|(id, Legacy { from, state, generation })| {
            let (from, state, generation) = (from.clone(), state.clone(), *generation);
            let bytes = state.as_ref().map_or(0, |state| state.len());
            let mut legacy = LegacyState { from, state, generation, lost: 0 };
            match room.checked_sub(bytes) {
                Some(left) => room = left,
                None => legacy.lose(),
            }
            (*id, legacy)
        });
        all.collect()
    }

    /// What comes with this grant: the state and who left it.
    pub(super) fn of(&self, id: ShardId, generation: u64) -> (Option<State>, Option<Arc<str>>) {
        match self.all.get(&id).filter(|legacy| legacy.generation == Some(generation)) {
            Some(legacy) => (legacy.state.clone(), Some(legacy.from.clone())),
            None => (None, None),
        }
    }

    /// The heir has it, or nobody needs it.
    pub(super) fn forget(&mut self, id: ShardId) {
        if let Some(legacy) = self.all.remove(&id) {
            self.bytes -= legacy.state.map_or(0, |state| state.len());
        }
    }
}

impl Namespace {
    /// The leader before had this for the next owner.
    pub(super) fn take_over_legacy(&mut self, now: Time, id: ShardId, legacy: LegacyState) {
        let LegacyState { from, state, generation, lost } = legacy;
        let bytes = lost + state.as_ref().map_or(0, |state| state.len() as u64);
        let fits = self.legacies.leave(id, from, state);
        if let Some(generation) = generation {
            self.legacies.granted(id, generation);
        }
        if lost > 0 || !fits {
            let why = format!(
                "its state of {bytes} bytes was too much to be handed over with the leadership"
            );
            self.note_shard(now, What::StateLost, id, why);
        }
    }

    /// The owner has stopped a shard and leaves this for the next.
    pub(super) fn leave_legacy(&mut self, now: Time, id: ShardId, state: Option<State>) {
        let Some(shard) = self.shard(id) else { return };
        let goes_on = match shard.phase {
            Phase::Revoking { next, .. } => next != Next::Release,
            Phase::Owned { .. } => true,
            Phase::Unowned | Phase::Granting | Phase::Releasing => false,
        };
        let owner = shard.owner.and_then(|owner| self.executor(owner));
        let Some(from) = owner.map(|owner| owner.id.clone()).filter(|_| goes_on) else { return };
        // Whether what an executor reported was the latest instance is not known.
        let state = state.filter(|_| shard.because != Because::Adopted);
        let bytes = state.as_ref().map_or(0, |state| state.len());
        if !self.legacies.leave(id, from, state) {
            let why =
                format!("its state of {bytes} bytes is not handed over: too much is on its way");
            self.note_shard(now, What::StateLost, id, why);
        }
    }
}
