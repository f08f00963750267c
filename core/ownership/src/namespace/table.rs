//! Who is where: the two tables and the lists between them, kept consistent in
//! this file alone.

use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{Action, RouteChange, Tell};
use crate::event::{Event, What};
use crate::executor::{Executor, Labels, Link};
use crate::ids::{ExecutorId, ShardId};
use crate::record::Kind;
use crate::shard::Shard;

impl Namespace {
    pub(super) fn executor(&self, id: ExecutorId) -> Option<&Executor> {
        self.executors.get(id.slot())
    }

    pub(super) fn executor_mut(&mut self, id: ExecutorId) -> Option<&mut Executor> {
        self.executors.get_mut(id.slot())
    }

    pub(super) fn shard(&self, id: ShardId) -> Option<&Shard> {
        self.shards.get(id.slot())
    }

    /// For a change: the next cycle looks at it.
    pub(super) fn shard_mut(&mut self, id: ShardId) -> Option<&mut Shard> {
        let shard = self.shards.get_mut(id.slot())?;
        self.planning.note(id, shard);
        Some(shard)
    }

    pub(super) fn shard_id(&self, key: &str) -> Option<ShardId> {
        self.shard_ids.find(&self.shards, key)
    }

    pub(super) fn shards_of(&self, id: ExecutorId) -> &[ShardId] {
        self.executor(id).map_or(&[], |executor| &executor.shards)
    }

    /// Whether a key can be a shard of this namespace.
    pub(super) fn is_valid_key(&self, key: &str) -> bool {
        match self.kind {
            Kind::Ephemeral => key.len() <= super::MAX_KEY_BYTES,
            // "07" and "+7" parse too, and are not keys.
            Kind::Fixed { shards } => {
                key.parse::<u32>().is_ok_and(|n| n < shards && n.to_string() == key)
            }
        }
    }

    pub(super) fn add_shard(&mut self, key: Arc<str>, now: Time) -> ShardId {
        let drained = self.drained_shards.contains_key(&key);
        let mut shard = Shard::new(key, now);
        shard.drained = drained;
        let wants_owner = !shard.drained;
        let id = ShardId::of(self.shards.insert(shard));
        self.shard_ids.insert(&self.shards, id);
        self.planning.note(id, &mut self.shards[id.slot()]);
        if wants_owner {
            self.unowned.insert(id);
        }
        id
    }

    /// Forgets an ephemeral shard that nobody owns.
    pub(super) fn remove_shard(&mut self, id: ShardId) {
        if !self.shards.contains(id.slot()) {
            return;
        }
        self.shard_ids.remove(&self.shards, id);
        self.shards.remove(id.slot());
        self.unowned.remove(&id);
        self.failures.remove(&id);
        self.suspects.remove(&id);
        self.move_costs.remove(&id);
        self.planning.forget(id);
        self.legacies.forget(id);
    }

    pub(super) fn add_executor(
        &mut self,
        now: Time,
        id: Arc<str>,
        host: Arc<str>,
        link: Link,
    ) -> ExecutorId {
        self.insert_executor(Executor::new(id, host, link, now))
    }

    pub(super) fn insert_executor(&mut self, mut executor: Executor) -> ExecutorId {
        executor.drained = self.drained_hosts.contains_key(&executor.host);
        self.next_expiry = self.next_expiry.min(executor.expires_at(&self.settings));
        let (id, metadata) = (executor.id.clone(), executor.metadata.clone());
        let slot = ExecutorId::of(self.executors.insert(executor));
        self.executor_ids.insert(id.clone(), slot);
        self.route(RouteChange::Executor { id, metadata });
        slot
    }

    /// Forgets an executor that owns nothing.
    pub(super) fn remove_executor(&mut self, id: ExecutorId) {
        let Some(executor) = self.executors.try_remove(id.slot()) else { return };
        if let Some(session) = executor.session() {
            self.sessions.remove(&session);
        }
        self.executor_ids.remove(&executor.id);
        self.route(RouteChange::ExecutorGone { id: executor.id });
    }

    pub(super) fn set_labels(&mut self, now: Time, id: ExecutorId, metadata: Labels) {
        let Some(executor) = self.executor_mut(id) else { return };
        if executor.metadata == metadata {
            return;
        }
        executor.set_metadata(now, metadata.clone());
        let id = executor.id.clone();
        self.route(RouteChange::Executor { id, metadata });
    }

    pub(super) fn set_host(&mut self, now: Time, id: ExecutorId, host: Arc<str>) {
        let drained = self.drained_hosts.contains_key(&host);
        let Some(executor) = self.executor_mut(id) else { return };
        let changed = executor.drained != drained;
        executor.host = host;
        executor.set_drained(now, drained);
        self.forced_due |= changed;
    }

    /// Puts a shard on an executor's list.
    pub(super) fn attach(&mut self, shard_id: ShardId, to: ExecutorId) {
        self.detach(shard_id);
        let Some(executor) = self.executors.get_mut(to.slot()) else { return };
        let Some(shard) = self.shards.get_mut(shard_id.slot()) else { return };
        self.planning.note(shard_id, shard);
        shard.slot = u32::try_from(executor.shards.len()).unwrap_or(u32::MAX);
        shard.owner = Some(to);
        shard.reported_running = false;
        executor.shards.push(shard_id);
        if shard.is_measured() {
            executor.load += shard.smoothed();
            executor.measured += 1;
        }
        self.unowned.remove(&shard_id);
    }

    /// Takes a shard off its owner's list.
    pub(super) fn detach(&mut self, shard_id: ShardId) {
        self.end_preparing(shard_id);
        let Some(shard) = self.shards.get_mut(shard_id.slot()) else { return };
        let Some(owner) = shard.owner.take() else { return };
        self.planning.note(shard_id, shard);
        let slot = shard.slot as usize;
        let measured = shard.is_measured().then(|| shard.smoothed());
        let Some(executor) = self.executors.get_mut(owner.slot()) else { return };
        executor.shards.swap_remove(slot);
        if let Some(load) = measured {
            executor.load -= load;
            executor.measured -= 1;
        }
        if let Some(moved) = executor.shards.get(slot).copied() {
            self.shards[moved.slot()].slot = u32::try_from(slot).unwrap_or(u32::MAX);
        }
    }

    pub(super) fn tell(&mut self, to: ExecutorId, message: Tell) {
        if let Some(session) = self.executor(to).and_then(Executor::session) {
            self.actions.push_back(Action::Tell { session, message });
        }
    }

    pub(super) fn note_executor(&mut self, now: Time, what: What, id: ExecutorId, detail: String) {
        let Some(executor) = self.executor(id) else { return };
        let event = Event {
            at: now,
            what,
            shard: None,
            executor: Some(executor.id.clone()),
            generation: 0,
            detail: detail.into(),
        };
        self.record(event);
    }

    pub(super) fn note_shard(
        &mut self,
        now: Time,
        what: What,
        id: ShardId,
        detail: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        let Some(shard) = self.shard(id) else { return };
        let owner = shard.owner.and_then(|owner| self.executor(owner));
        let event = Event {
            at: now,
            what,
            shard: Some(shard.key.clone()),
            executor: owner.map(|executor| executor.id.clone()),
            generation: shard.generation,
            detail: detail.into(),
        };
        self.record(event);
    }
}
