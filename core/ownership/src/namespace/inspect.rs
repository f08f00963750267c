//! What can be read of a namespace: for states, loads, snapshots and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_placement::measures::Balance;
use plimsoll_placement::time::Time;

use super::Namespace;
use crate::executor::{Executor, Labels};
use crate::ids::ExecutorId;
use crate::record::{DrainRecord, Write};
use crate::shard::{Phase, Shard};

/// One executor as it is now.
#[derive(Clone, Debug)]
pub struct ExecutorInspection<'a> {
    pub id: &'a Arc<str>,
    pub host: &'a Arc<str>,
    pub metadata: &'a Labels,
    /// `active`, `leaving`, `drained`, `away` or `silent`.
    pub status: &'static str,
    /// The status on the Go wire; 0 for executors with a session.
    pub wire_status: i32,
    /// `session`, `unary` or `unheard`.
    pub protocol: &'static str,
    pub last_heard: Time,
    /// When it is called dead if nothing is heard of it.
    pub lease_ends: Time,
    /// Of its program, as it says.
    pub version: Option<&'a str>,
    /// Smoothed, as of the last reports.
    pub load: f64,
    /// What it can carry beside the others.
    pub capacity: f64,
    pub shards: usize,
    slot: ExecutorId,
}

/// One shard as it is now.
#[derive(Clone, Debug)]
pub struct ShardInspection<'a> {
    pub key: &'a Arc<str>,
    pub generation: u64,
    /// It is its owner's to run: neither on its way in nor out.
    pub owned: bool,
    /// `None`: not measured yet.
    pub smoothed_load: Option<f64>,
    pub moved_at: Option<Time>,
}

/// How many shards are in which phase.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Census {
    pub shards: usize,
    pub unowned: usize,
    pub in_handover: usize,
}

impl Namespace {
    /// Every executor, in order of id.
    pub fn executors(&self) -> Vec<ExecutorInspection<'_>> {
        let mut all: Vec<_> =
            self.executors.iter().map(|(slot, e)| self.inspect(ExecutorId::of(slot), e)).collect();
        all.sort_by(|a, b| a.id.cmp(b.id));
        all
    }

    /// The executor of that id.
    pub fn executor_of(&self, id: &str) -> Option<ExecutorInspection<'_>> {
        let slot = self.executor_ids.get(id).copied()?;
        self.executor(slot).map(|executor| self.inspect(slot, executor))
    }

    /// The shards that an executor may run or is stopping, in no order.
    pub fn shards_on<'a>(
        &'a self,
        now: Time,
        executor: &ExecutorInspection<'_>,
    ) -> impl Iterator<Item = ShardInspection<'a>> + 'a {
        let shards = self.shards_of(executor.slot).iter().filter_map(|id| self.shard(*id));
        shards
            .filter(|shard| !matches!(shard.phase, Phase::Granting))
            .map(move |shard| self.inspect_shard(now, shard))
    }

    /// Owned shards for a routing map: key, executor id, generation; in no order.
    pub fn routes(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, u64)> {
        let told =
            |shard: &&Shard| matches!(shard.phase, Phase::Owned { .. } | Phase::Revoking { .. });
        self.shards.iter().map(|(_, shard)| shard).filter(told).filter_map(|shard| {
            let owner = self.executor(shard.owner?).filter(|owner| owner.away_until.is_none())?;
            Some((&shard.key, &owner.id, shard.generation))
        })
    }

    /// Drained shards, in order of key.
    pub fn drained_shards(&self) -> &BTreeMap<Arc<str>, DrainRecord> {
        &self.drained_shards
    }

    /// Drained hosts, in order of name.
    pub fn drained_hosts(&self) -> &BTreeMap<Arc<str>, DrainRecord> {
        &self.drained_hosts
    }

    /// How many shards there are, and how many of them want something.
    pub fn census(&self) -> Census {
        let in_handover = |shard: &Shard| {
            matches!(shard.phase, Phase::Granting | Phase::Revoking { .. } | Phase::Releasing)
        };
        Census {
            shards: self.shards.len(),
            unowned: self.unowned.len(),
            in_handover: self.shards.iter().filter(|(_, shard)| in_handover(shard)).count(),
        }
    }

    /// How even the load is, over open executors and per unit of their capacity.
    pub fn balance(&self, now: Time) -> Balance {
        let host = |(id, executor): (ExecutorId, &Executor)| {
            (self.load_on(now, id), executor.capacity(&self.settings))
        };
        let hosts: Vec<_> = self.open_executors().map(host).collect();
        Balance::per_capacity(&hosts, self.measured_part())
    }

    /// The load of each executor, as the planner sees it, in order of id.
    pub fn host_loads(&self, now: Time) -> Vec<(Arc<str>, f64)> {
        let mut all: Vec<_> = self
            .executors
            .iter()
            .map(|(slot, e)| (e.id.clone(), self.load_on(now, ExecutorId::of(slot))))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// A checkpoint of the smoothed loads, in order of key.
    pub fn checkpoint(&self, now: Time) -> Write {
        let measured = self.shards.iter().map(|(_, shard)| shard).filter(|s| s.owner.is_some());
        let mut loads: Vec<_> =
            measured.filter_map(|s| Some((s.key.clone(), self.load_of(now, s)?))).collect();
        loads.sort_by(|a, b| a.0.cmp(&b.0));
        Write::Loads(loads)
    }

    /// Adds a checkpoint of the smoothed loads to the next commit.
    pub fn request_checkpoint(&mut self, now: Time) {
        let checkpoint = self.checkpoint(now);
        self.journal.write(checkpoint);
    }

    fn load_on(&self, now: Time, id: ExecutorId) -> f64 {
        let shards = self.shards_of(id).iter().filter_map(|id| self.shard(*id));
        shards.filter_map(|shard| self.load_of(now, shard)).sum()
    }

    fn measured_part(&self) -> f64 {
        let measured: usize = self.executors.iter().map(|(_, e)| e.measured).sum();
        let owned: usize = self.executors.iter().map(|(_, e)| e.shards.len()).sum();
        if owned == 0 { 0.0 } else { measured as f64 / owned as f64 }
    }

    fn inspect_shard<'a>(&self, now: Time, shard: &'a Shard) -> ShardInspection<'a> {
        ShardInspection {
            key: &shard.key,
            generation: shard.generation,
            owned: shard.is_owned(),
            smoothed_load: self.load_of(now, shard),
            moved_at: shard.moved_at(),
        }
    }

    fn inspect<'a>(&self, slot: ExecutorId, executor: &'a Executor) -> ExecutorInspection<'a> {
        ExecutorInspection {
            id: &executor.id,
            host: &executor.host,
            metadata: &executor.metadata,
            status: executor.status(),
            wire_status: executor.wire_status,
            protocol: executor.protocol(),
            last_heard: executor.last_heard,
            lease_ends: executor.expires_at(&self.settings),
            version: executor.version(),
            load: executor.load,
            capacity: executor.capacity(&self.settings),
            shards: executor.shards.len(),
            slot,
        }
    }
}
