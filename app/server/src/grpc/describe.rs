//! The machine's state in the words of the wire.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::namespace::{ExecutorInspection, Namespace, ShardInspection};
use plimsoll_ownership::record::{DrainRecord, Kind};
use plimsoll_placement::measures::Balance;
use plimsoll_placement::time::Time;
use plimsoll_wire::{sharddistributor as go, v1};
use prost_types::Duration as WireDuration;

use crate::history::timestamp;

/// A type of namespace and the number of its shards; 0 for any number.
pub(crate) fn kind(kind: Kind) -> (&'static str, u32) {
    match kind {
        Kind::Fixed { shards } => ("fixed", shards),
        Kind::Ephemeral => ("ephemeral", 0),
    }
}

pub(super) fn duration(span: Duration) -> WireDuration {
    let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    // Below 1,000,000,000: it fits.
    WireDuration { seconds, nanos: span.subsec_nanos() as i32 }
}

// === the Go wire ===

pub(super) fn go_executors(now: Time, namespace: &Namespace) -> Vec<go::NamespaceExecutorState> {
    namespace.executors().iter().map(|executor| go_state(now, namespace, executor)).collect()
}

pub(super) fn go_executor(
    now: Time,
    namespace: &Namespace,
    id: &str,
) -> Option<go::NamespaceExecutorState> {
    namespace.executor_of(id).map(|executor| go_state(now, namespace, &executor))
}

fn go_state(
    now: Time,
    namespace: &Namespace,
    executor: &ExecutorInspection<'_>,
) -> go::NamespaceExecutorState {
    let ready = i32::from(go::AssignmentStatus::Ready);
    let mut assigned_shards: Vec<_> = namespace
        .shards_on(now, executor)
        .map(|shard| go::AssignedShardState {
            shard_key: shard.key.to_string(),
            assignment_status: if shard.owned { ready } else { 0 },
            assigned_state_mod_revision: i64::try_from(shard.generation).unwrap_or(i64::MAX),
        })
        .collect();
    assigned_shards.sort_by(|a, b| a.shard_key.cmp(&b.shard_key));
    go::NamespaceExecutorState {
        executor_id: executor.id.to_string(),
        status: wire_status(executor),
        last_heartbeat: Some(timestamp(namespace.wall_ms(executor.last_heard))),
        metadata: labels(executor),
        assigned_shards,
        host_metadata: Some(go::HostMetadata { host_name: executor.host.to_string() }),
    }
}

fn wire_status(executor: &ExecutorInspection<'_>) -> i32 {
    match (executor.wire_status, executor.status) {
        (0, "leaving") => go::ExecutorStatus::Draining.into(),
        (0, _) => go::ExecutorStatus::Active.into(),
        (status, _) => status,
    }
}

fn labels(executor: &ExecutorInspection<'_>) -> HashMap<String, String> {
    executor.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

pub(super) fn go_loads(now: Time, namespace: &Namespace) -> Vec<go::ExecutorShardLoads> {
    let loads = |executor: &ExecutorInspection<'_>| go::ExecutorShardLoads {
        executor_id: executor.id.to_string(),
        shards: namespace
            .shards_on(now, executor)
            .map(|shard| go::ShardLoad {
                shard_key: shard.key.to_string(),
                smoothed_load: shard.smoothed_load.unwrap_or(0.0),
            })
            .collect(),
    };
    namespace.executors().iter().map(loads).collect()
}

pub(super) fn go_drained_hosts(namespace: &Namespace) -> Vec<go::DrainedHost> {
    namespace.drained_hosts().iter().map(|(host, drain)| go_drained_host(host, drain)).collect()
}

fn go_drained_host(host: &Arc<str>, drain: &DrainRecord) -> go::DrainedHost {
    go::DrainedHost {
        hostname: host.to_string(),
        drained_at: Some(timestamp(drain.drained_at_ms)),
        drained_by: drain.drained_by.clone(),
        reason: drain.reason.clone(),
    }
}

pub(super) fn go_full_state(now: Time, namespace: &Namespace) -> go::GetFullNamespaceStateResponse {
    let mut state = go::GetFullNamespaceStateResponse {
        namespace: namespace.name().to_string(),
        drained_shards: namespace.drained_shards().keys().map(ToString::to_string).collect(),
        ..Default::default()
    };
    for host in go_drained_hosts(namespace) {
        state.drained_hosts.insert(host.hostname.clone(), host);
    }
    for executor in namespace.executors() {
        add_executor(now, namespace, &executor, &mut state);
    }
    state
}

fn add_executor(
    now: Time,
    namespace: &Namespace,
    executor: &ExecutorInspection<'_>,
    state: &mut go::GetFullNamespaceStateResponse,
) {
    let last_heartbeat = Some(timestamp(namespace.wall_ms(executor.last_heard)));
    let mut beat = go::HeartbeatState {
        last_heartbeat,
        status: wire_status(executor),
        reported_shards: HashMap::new(),
        metadata: labels(executor),
    };
    let mut assigned = go::AssignedState { last_updated: last_heartbeat, ..Default::default() };
    for shard in namespace.shards_on(now, executor) {
        let key = shard.key.to_string();
        let load = shard.smoothed_load;
        let ready = go::ShardStatus::Ready.into();
        let report = go::ShardStatusReport { status: ready, shard_load: load.unwrap_or(0.0) };
        beat.reported_shards.insert(key.clone(), report);
        let status = i32::from(shard.owned);
        assigned.assigned_shards.insert(key.clone(), go::ShardAssignment { status });
        let statistics = go::ShardStatistics {
            smoothed_load: load.unwrap_or(0.0),
            last_update_time: load.and(last_heartbeat),
            last_move_time: shard.moved_at.map(|at| timestamp(namespace.wall_ms(at))),
        };
        state.shard_stats.insert(key, statistics);
    }
    state.executors.insert(executor.id.to_string(), beat);
    state.shard_assignments.insert(executor.id.to_string(), assigned);
}

// === our own wire ===

pub(super) fn balance(balance: &Balance) -> v1::Balance {
    v1::Balance {
        hosts: balance.hosts as u64,
        mean: balance.mean,
        max: balance.max,
        min: balance.min,
        max_over_mean: balance.max_over_mean(),
        spread: balance.spread,
        measured: balance.measured,
    }
}

pub(super) fn drain(name: &str, drain: &DrainRecord, waiting_for: String) -> v1::Drain {
    v1::Drain {
        name: name.to_owned(),
        drained_at: Some(timestamp(drain.drained_at_ms)),
        drained_by: drain.drained_by.clone(),
        reason: drain.reason.clone(),
        waiting_for,
    }
}

pub(super) fn settings(namespace: &Namespace) -> HashMap<String, String> {
    let entries = namespace.settings().entries();
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Every executor, with so many of its largest shards.
pub(super) fn executor_loads(
    now: Time,
    namespace: &Namespace,
    largest: usize,
) -> Vec<v1::ExecutorLoad> {
    let loads: BTreeMap<_, _> = namespace.host_loads(now).into_iter().collect();
    let describe = |executor: &ExecutorInspection<'_>| v1::ExecutorLoad {
        executor_id: executor.id.to_string(),
        host: executor.host.to_string(),
        status: executor.status.to_owned(),
        load: loads.get(executor.id).copied().unwrap_or(0.0),
        shards: executor.shards as u64,
        last_heartbeat: Some(timestamp(namespace.wall_ms(executor.last_heard))),
        protocol: executor.protocol.to_owned(),
        capacity: executor.capacity,
        silent_ms: u64::try_from((now - executor.last_heard).as_millis()).unwrap_or(u64::MAX),
        lease_ends: Some(timestamp(namespace.wall_ms(executor.lease_ends))),
        version: executor.version.unwrap_or_default().to_owned(),
        ..v1::ExecutorLoad::default()
    };
    let with_largest = |executor: &ExecutorInspection<'_>| {
        let mut described = describe(executor);
        if largest > 0 {
            add_largest(now, namespace, executor, largest, &mut described);
        }
        described
    };
    namespace.executors().iter().map(with_largest).collect()
}

fn add_largest(
    now: Time,
    namespace: &Namespace,
    executor: &ExecutorInspection<'_>,
    count: usize,
    described: &mut v1::ExecutorLoad,
) {
    let mut shards: Vec<_> = namespace.shards_on(now, executor).collect();
    let load = |shard: &ShardInspection<'_>| shard.smoothed_load.unwrap_or(0.0);
    for shard in shards.iter().filter(|shard| cooldown_left(now, namespace, shard).is_some()) {
        described.cooling_shards += 1;
        described.cooling_load += load(shard);
    }
    shards.sort_by(|a, b| load(b).total_cmp(&load(a)).then_with(|| a.key.cmp(b.key)));
    let owned = |shard: &ShardInspection<'_>| owned_load(now, namespace, executor, shard);
    described.largest = shards.iter().take(count).map(owned).collect();
}

fn owned_load(
    now: Time,
    namespace: &Namespace,
    executor: &ExecutorInspection<'_>,
    shard: &ShardInspection<'_>,
) -> v1::OwnedLoad {
    v1::OwnedLoad {
        shard_key: shard.key.to_string(),
        executor_id: executor.id.to_string(),
        smoothed_load: shard.smoothed_load,
        cooldown_left: cooldown_left(now, namespace, shard).map(duration),
    }
}

/// How long a shard stays for having moved; `None`: it may move.
fn cooldown_left(
    now: Time,
    namespace: &Namespace,
    shard: &ShardInspection<'_>,
) -> Option<Duration> {
    let ends = shard.moved_at? + namespace.settings().policy.per_shard_cooldown();
    Some(ends - now).filter(|left| !left.is_zero())
}

pub(super) fn owned_loads(now: Time, namespace: &Namespace) -> Vec<v1::OwnedLoad> {
    let mut all = Vec::new();
    for executor in namespace.executors() {
        let shards = namespace.shards_on(now, &executor);
        all.extend(shards.map(|shard| owned_load(now, namespace, &executor, &shard)));
    }
    all
}
