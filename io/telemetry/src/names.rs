//! The names of metrics. Where the Go Shard Manager has one, it is that one,
//! spelt right; the rest begin with `plimsoll_`. Counters get `_total` from the
//! exposition format.

/// One metric: its name, what it means, and its unit in words.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    pub name: &'static str,
    pub help: &'static str,
}

const fn metric(name: &'static str, help: &'static str) -> Metric {
    Metric { name, help }
}

pub const REQUESTS: Metric = metric("shard_distributor_requests", "Requests served, by operation");
pub const FAILURES: Metric =
    metric("shard_distributor_failures", "Requests answered with an error, by operation and code");
pub const LATENCY: Metric =
    metric("shard_distributor_latency_seconds", "Time from a request to its answer, in seconds");
pub const ACTIVE_SHARDS: Metric =
    metric("shard_distributor_active_shards", "Shards that have an owner");
pub const TOTAL_EXECUTORS: Metric =
    metric("shard_distributor_total_executors", "Executors known, by status");
pub const OLDEST_HEARTBEAT_LAG: Metric = metric(
    "shard_distributor_oldest_executor_heartbeat_lag",
    "Time since the executor that has been silent the longest was heard, in milliseconds",
);
pub const CONTESTED_REPORTS: Metric = metric(
    "plimsoll_contested_reports",
    "Reports of a shard by an executor while another one owns it: two may be running it",
);
pub const IS_LEADER: Metric =
    metric("shard_distributor_is_leader", "1 if this server leads the namespace");
pub const LOAD_MAX_OVER_MEAN: Metric = metric(
    "shard_distributor_assignment_smoothed_load_max_over_mean",
    "Smoothed load of the hottest open executor over the mean",
);
pub const LOAD_CV: Metric = metric(
    "shard_distributor_assignment_smoothed_load_cv",
    "Spread: standard deviation of the executors' smoothed load over its mean",
);
pub const LOAD_MISSING_RATIO: Metric = metric(
    "shard_distributor_assignment_smoothed_load_missing_ratio",
    "The part of owned shards whose load has not been measured, 0 to 1",
);
pub const LOAD_BASED_MOVES: Metric = metric(
    "shard_distributor_shard_assign_load_based_moves",
    "Shards that have changed their owner for balance",
);
pub const MOVED_LOAD: Metric = metric(
    "shard_distributor_shard_assign_moved_shard_load",
    "The load, in the application's unit, that has been moved for balance",
);
pub const REASSIGNED_SHARDS: Metric = metric(
    "shard_distributor_shard_assign_reassigned_shards",
    "Shards that have changed their owner for whatever reason",
);
pub const DELETED_SHARDS: Metric = metric(
    "shard_distributor_shard_assign_deleted_shards",
    "Ephemeral shards that their owners have reported done",
);
pub const ASSIGN_ATTEMPTS: Metric =
    metric("shard_distributor_shard_assign_attempt", "Cycles that looked for imbalance");
pub const DRAINED_SHARDS: Metric =
    metric("shard_distributor_drained_shards", "Shards that are drained");
pub const DRAINED_HOSTS: Metric =
    metric("shard_distributor_drained_hosts", "Hosts that are drained");
pub const UNOWNED_SHARDS: Metric =
    metric("plimsoll_unowned_shards", "Shards that want an owner and have none");
pub const SHARDS_IN_HANDOVER: Metric =
    metric("plimsoll_shards_in_handover", "Shards between two owners");
pub const STORE_FAILING: Metric = metric(
    "plimsoll_store_failing",
    "1 while changes cannot be stored: nothing moves until they can",
);
pub const FROZEN: Metric = metric("plimsoll_balance_frozen", "1 if an operator froze balance");
pub const EVENTS: Metric =
    metric("plimsoll_events", "What happened, by kind; see `smctl shard history`");
pub const SESSIONS: Metric =
    metric("plimsoll_executor_sessions", "Executor sessions that are open");
pub const WATCHES: Metric = metric("plimsoll_watches", "Watches of the map that are open, by wire");
pub const LEADER: Metric = metric(
    "plimsoll_leader",
    "1 if this server leads the namespace; over all servers the sum is 1",
);
pub const LEADER_CHANGES: Metric = metric(
    "plimsoll_leader_changes",
    "Times that another server has come to lead the namespace, as this server saw it",
);
pub const REPLICA_AGE: Metric = metric(
    "plimsoll_replica_age_seconds",
    "Time since the leader confirmed this server's copy of the map; none where it leads itself",
);
pub const CONFIDENCE: Metric = metric(
    "plimsoll_leader_confidence_seconds",
    "For how long this server is sure of all that it leads; at 0 it falls silent. 0 if it leads nothing",
);
pub const FORWARDED: Metric = metric(
    "plimsoll_forwarded_calls",
    "Calls and sessions passed on to the leader of their namespace",
);
pub const STORE_FAILURES: Metric = metric(
    "plimsoll_store_failures",
    "Requests to etcd that failed while this server kept in touch with the others",
);
pub const POLICY_SERVICES: Metric =
    metric("plimsoll_policy_services", "Services whose policy is kept here");
pub const POLICY_INSTANCES: Metric = metric(
    "plimsoll_policy_instances",
    "Instances of services that are connected to this server for their policy",
);
pub const POLICY_SAVES: Metric =
    metric("plimsoll_policy_saves", "Revisions of policies that this server has stored");
pub const POLICY_CONFLICTS: Metric = metric(
    "plimsoll_policy_conflicts",
    "Saves of policies that were refused since somebody else had saved in between",
);
pub const POLICY_PUSHES: Metric =
    metric("plimsoll_policy_pushes", "Policies that were sent to instances");
pub const POLICY_APPLY: Metric = metric(
    "plimsoll_policy_apply_seconds",
    "Time from saving a policy to an instance's word that it holds, in seconds, by the clock \
     of the server that saved it and that of this one",
);
pub const POLICY_REFUSED: Metric = metric(
    "plimsoll_policy_refused",
    "Pushed policies that an instance could not apply: the one before goes on there",
);
pub const POLICY_OBSERVATIONS_DROPPED: Metric = metric(
    "plimsoll_policy_observations_dropped",
    "Observations of instances that were passed over, since they came too fast",
);
