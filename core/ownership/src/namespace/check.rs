//! The invariants of a namespace, for tests, simulations and debug builds.

use plimsoll_placement::view::Candidacy;

use super::Namespace;
use crate::executor::Executor;
use crate::ids::{ExecutorId, ShardId};
use crate::shard::{Phase, Shard};

impl Namespace {
    /// What is wrong with the tables; nothing, one hopes.
    pub fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (slot, shard) in &self.shards {
            wrong.extend(self.check_shard(ShardId::of(slot), shard));
        }
        for (slot, executor) in &self.executors {
            wrong.extend(self.check_executor(ExecutorId::of(slot), executor));
        }
        wrong
    }

    fn check_shard(&self, id: ShardId, shard: &Shard) -> Vec<String> {
        let key = &shard.key;
        let on_list = shard
            .owner
            .is_none_or(|owner| self.shards_of(owner).get(shard.slot as usize) == Some(&id));
        let owner_fits = match shard.phase {
            Phase::Owned { .. } | Phase::Revoking { .. } => shard.owner.is_some(),
            Phase::Unowned | Phase::Releasing => shard.owner.is_none(),
            Phase::Granting => true,
        };
        let wants_owner = shard.phase == Phase::Unowned && !shard.drained;
        let checks = [
            (on_list, "is not on its owner's list"),
            (owner_fits, "has an owner that does not fit its phase"),
            (
                self.unowned.contains(&id) == wants_owner,
                "is wrongly counted as (not) wanting an owner",
            ),
            (self.shard_id(key) == Some(id), "is not found by its key"),
            (shard.drained || !self.drained_shards.contains_key(key), "does not know of its drain"),
            (shard.generation <= self.generation, "has a generation from the future"),
            (
                self.preparations.get(id).is_none()
                    || matches!(shard.phase, Phase::Owned { told: true }),
                "is made ready elsewhere although nobody runs it",
            ),
        ];
        failed(&checks).map(|what| format!("shard {key} ({:?}) {what}", shard.phase)).collect()
    }

    fn check_executor(&self, id: ExecutorId, executor: &Executor) -> Vec<String> {
        let name = &executor.id;
        let owns_all = executor
            .shards
            .iter()
            .all(|shard| self.shard(*shard).is_some_and(|shard| shard.owner == Some(id)));
        let measured = executor.shards.iter().filter_map(|shard| self.shard(*shard));
        let measured = measured.filter(|shard| shard.is_measured()).count();
        let drained = self.drained_hosts.contains_key(&executor.host);
        let checks = [
            (owns_all, "lists a shard that it does not own"),
            (measured == executor.measured, "has a wrong count of measured shards"),
            (!drained || executor.candidacy() == Candidacy::Drained, "does not know of its drain"),
            (self.executor_ids.get(name) == Some(&id), "is not found by its id"),
        ];
        failed(&checks).map(|what| format!("executor {name} {what}")).collect()
    }
}

fn failed<'a>(checks: &'a [(bool, &'a str)]) -> impl Iterator<Item = &'a str> {
    checks.iter().filter(|(holds, _)| !holds).map(|(_, what)| *what)
}
