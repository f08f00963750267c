//! What a drain will touch, before anybody agrees to it.

use std::collections::HashSet;

use plimsoll_wire::sharddistributor::{ExecutorStatus, NamespaceExecutorState};

use crate::output::Colour;

const NOBODY_LEFT: &str = "Warning: after this drain, no executors in this namespace would remain \
    eligible for shard assignment. Existing shards may stay on the drained host(s) until another \
    host is available or these hosts are undrained.";

/// A line for the operator.
pub(super) struct Line {
    pub(super) text: String,
    pub(super) colour: Option<Colour>,
}

/// What the hosts hold, and a warning if nobody could take it.
pub(super) fn preview(
    hostnames: &[String],
    executors: &[NamespaceExecutorState],
    drained: &HashSet<String>,
) -> Vec<Line> {
    let mut lines: Vec<Line> =
        hostnames.iter().flat_map(|host| host_lines(host, executors)).collect();
    if leaves_nobody(hostnames, executors, drained) {
        lines.push(Line { text: NOBODY_LEFT.to_owned(), colour: Some(Colour::Red) });
    }
    lines
}

/// How many shards are on the hosts.
pub(super) fn held(hostnames: &[String], executors: &[NamespaceExecutorState]) -> usize {
    let here = executors
        .iter()
        .filter(|it| host_of(it).is_some_and(|host| hostnames.iter().any(|name| name == host)));
    here.map(|executor| executor.assigned_shards.len()).sum()
}

fn host_lines(host: &str, executors: &[NamespaceExecutorState]) -> Vec<Line> {
    let mut here: Vec<_> = executors.iter().filter(|it| host_of(it) == Some(host)).collect();
    if here.is_empty() {
        return vec![unknown_host(host)];
    }
    here.sort_by(|a, b| a.executor_id.cmp(&b.executor_id));
    let total: usize = here.iter().map(|it| it.assigned_shards.len()).sum();
    let heading = plain(format!("Host {host:?} currently holds {total} shard(s):"));
    std::iter::once(heading).chain(here.into_iter().map(executor_line)).collect()
}

fn executor_line(executor: &NamespaceExecutorState) -> Line {
    let NamespaceExecutorState { executor_id, assigned_shards, .. } = executor;
    plain(format!("  executor {executor_id}: {} shard(s)", assigned_shards.len()))
}

fn unknown_host(host: &str) -> Line {
    let text = format!(
        "Hostname {host:?} is not known in this namespace — it has no registered executors. \
         If this is unexpected, check for a typo before proceeding."
    );
    Line { text, colour: Some(Colour::Yellow) }
}

fn plain(text: String) -> Line {
    Line { text, colour: None }
}

/// An executor that told no host cannot be drained by host: it remains.
fn leaves_nobody(
    hostnames: &[String],
    executors: &[NamespaceExecutorState],
    drained: &HashSet<String>,
) -> bool {
    let goes = |host: &str| drained.contains(host) || hostnames.iter().any(|it| it == host);
    executors
        .iter()
        .filter(|executor| executor.status == i32::from(ExecutorStatus::Active))
        .all(|executor| host_of(executor).is_some_and(goes))
}

fn host_of(executor: &NamespaceExecutorState) -> Option<&str> {
    let host = executor.host_metadata.as_ref()?.host_name.as_str();
    (!host.is_empty()).then_some(host)
}
