//! The answers of the Go wire under the JSON names of the Go tool.
//!
//! There a list or map that came empty off the wire is nil and prints as `null`,
//! and an enum prints as its Go name.

use std::collections::BTreeMap;

use plimsoll_wire::sharddistributor as wire;
use serde::Serialize;

use crate::go_time;

type Metadata = BTreeMap<String, String>;

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Namespaces {
    namespaces: Option<Vec<Namespace>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Namespace {
    name: String,
    r#type: String,
    mode: String,
    shard_num: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct NamespaceState {
    namespace: String,
    executors: Option<Vec<Executor>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExecutorState {
    namespace: String,
    executor: Option<Executor>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Executor {
    #[serde(rename = "ExecutorID")]
    executor_id: String,
    status: String,
    last_heartbeat: String,
    metadata: Option<Metadata>,
    assigned_shards: Option<Vec<AssignedShard>>,
    host_metadata: Option<HostMetadata>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct AssignedShard {
    shard_key: String,
    assignment_status: String,
    assigned_state_mod_revision: i64,
}

#[derive(Debug, Serialize)]
struct HostMetadata {
    host_name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ShardOwner {
    owner: String,
    namespace: String,
    metadata: Option<Metadata>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DrainedHosts {
    namespace: String,
    hosts: Option<Vec<DrainedHost>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct DrainedHost {
    hostname: String,
    drained_at: String,
    drained_by: String,
    reason: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct UndrainedHosts {
    undrained_hostnames: Option<Vec<String>>,
}

/// `null` for nothing, as Go prints a nil list.
pub(crate) fn nil_if_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// The Go name of a status, without `ExecutorStatus` before it.
pub(crate) fn short_status(status: i32) -> String {
    match wire::ExecutorStatus::try_from(status) {
        Ok(wire::ExecutorStatus::Invalid) => "INVALID".to_owned(),
        Ok(wire::ExecutorStatus::Active) => "ACTIVE".to_owned(),
        Ok(wire::ExecutorStatus::Draining) => "DRAINING".to_owned(),
        Ok(wire::ExecutorStatus::Drained) => "DRAINED".to_owned(),
        Err(_) => format!("({status})"),
    }
}

fn assignment_status(status: i32) -> String {
    let name = match wire::AssignmentStatus::try_from(status) {
        Ok(wire::AssignmentStatus::Invalid) => "INVALID".to_owned(),
        Ok(wire::AssignmentStatus::Ready) => "READY".to_owned(),
        Err(_) => format!("({status})"),
    };
    format!("AssignmentStatus{name}")
}

fn metadata(entries: impl IntoIterator<Item = (String, String)>) -> Option<Metadata> {
    let metadata: Metadata = entries.into_iter().collect();
    (!metadata.is_empty()).then_some(metadata)
}

fn list<T, U: From<T>>(items: Vec<T>) -> Option<Vec<U>> {
    nil_if_empty(items.into_iter().map(U::from).collect())
}

impl From<wire::ListNamespacesResponse> for Namespaces {
    fn from(answer: wire::ListNamespacesResponse) -> Self {
        Self { namespaces: list(answer.namespaces) }
    }
}

impl From<wire::NamespaceConfig> for Namespace {
    fn from(config: wire::NamespaceConfig) -> Self {
        let wire::NamespaceConfig { name, r#type, mode, shard_num } = config;
        Self { name, r#type, mode, shard_num }
    }
}

impl From<wire::GetNamespaceStateResponse> for NamespaceState {
    fn from(answer: wire::GetNamespaceStateResponse) -> Self {
        Self { namespace: answer.namespace, executors: list(answer.executors) }
    }
}

impl From<wire::GetExecutorStateResponse> for ExecutorState {
    fn from(answer: wire::GetExecutorStateResponse) -> Self {
        Self { namespace: answer.namespace, executor: answer.executor.map(Executor::from) }
    }
}

impl From<wire::NamespaceExecutorState> for Executor {
    fn from(state: wire::NamespaceExecutorState) -> Self {
        Self {
            executor_id: state.executor_id,
            status: format!("ExecutorStatus{}", short_status(state.status)),
            last_heartbeat: go_time::nanos(state.last_heartbeat.as_ref()),
            metadata: metadata(state.metadata),
            assigned_shards: list(state.assigned_shards),
            host_metadata: state
                .host_metadata
                .map(|host| HostMetadata { host_name: host.host_name }),
        }
    }
}

impl From<wire::AssignedShardState> for AssignedShard {
    fn from(shard: wire::AssignedShardState) -> Self {
        Self {
            shard_key: shard.shard_key,
            assignment_status: assignment_status(shard.assignment_status),
            assigned_state_mod_revision: shard.assigned_state_mod_revision,
        }
    }
}

impl From<wire::InspectShardResponse> for ShardOwner {
    fn from(answer: wire::InspectShardResponse) -> Self {
        let wire::InspectShardResponse { owner, namespace, metadata: entries } = answer;
        Self { owner, namespace, metadata: metadata(entries) }
    }
}

impl From<wire::GetShardOwnerResponse> for ShardOwner {
    fn from(answer: wire::GetShardOwnerResponse) -> Self {
        let wire::GetShardOwnerResponse { owner, namespace, metadata: entries } = answer;
        Self { owner, namespace, metadata: metadata(entries) }
    }
}

impl From<wire::GetDrainedHostsResponse> for DrainedHosts {
    fn from(answer: wire::GetDrainedHostsResponse) -> Self {
        Self { namespace: answer.namespace, hosts: list(answer.hosts) }
    }
}

impl From<wire::DrainedHost> for DrainedHost {
    fn from(host: wire::DrainedHost) -> Self {
        Self {
            drained_at: go_time::nanos(host.drained_at.as_ref()),
            hostname: host.hostname,
            drained_by: host.drained_by,
            reason: host.reason,
        }
    }
}

impl From<wire::UndrainHostsResponse> for UndrainedHosts {
    fn from(answer: wire::UndrainHostsResponse) -> Self {
        Self { undrained_hostnames: nil_if_empty(answer.undrained_hostnames) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_enum_values_show_their_number() {
        assert_eq!(short_status(4), "(4)");
        assert_eq!(assignment_status(9), "AssignmentStatus(9)");
    }
}
