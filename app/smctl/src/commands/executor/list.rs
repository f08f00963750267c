//! `executor list`: a line an executor, its shards only counted.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use plimsoll_wire::sharddistributor::{GetNamespaceStateResponse, NamespaceExecutorState};
use serde::Serialize;

use crate::go_time;
use crate::go_views::short_status;
use crate::output;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Print the executor list as indented JSON instead of a table
    #[arg(long, short = 'j')]
    json: bool,
}

/// Camel case, unlike everything else: so the Go tool has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    namespace: String,
    executors: Vec<Summary>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    executor_id: String,
    status: String,
    last_heartbeat: String,
    shard_count: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let mut state = session.server()?.namespace_state(&namespace).await?;
    state.executors.sort_by(|a, b| a.executor_id.cmp(&b.executor_id));
    if arguments.json {
        output::print_json(&view(state))
    } else {
        output::print_table(&table(&state.executors))
    }
}

fn view(state: GetNamespaceStateResponse) -> View {
    let executors = state.executors.into_iter().map(summary).collect();
    View { namespace: state.namespace, executors }
}

fn summary(executor: NamespaceExecutorState) -> Summary {
    Summary {
        status: short_status(executor.status),
        last_heartbeat: go_time::nanos(executor.last_heartbeat.as_ref()),
        shard_count: executor.assigned_shards.len(),
        executor_id: executor.executor_id,
        metadata: executor.metadata.into_iter().collect(),
    }
}

fn table(executors: &[NamespaceExecutorState]) -> String {
    let heading = "EXECUTOR_ID\tSTATUS\tLAST_HEARTBEAT\tSHARDS\tMETADATA\n";
    format!("{heading}{}", executors.iter().map(line).collect::<String>())
}

fn line(executor: &NamespaceExecutorState) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}\n",
        executor.executor_id,
        short_status(executor.status),
        go_time::seconds(executor.last_heartbeat.as_ref()),
        executor.assigned_shards.len(),
        metadata(executor),
    )
}

/// `k=v,k=v` sorted by key, or a dash.
fn metadata(executor: &NamespaceExecutorState) -> String {
    let sorted: BTreeMap<_, _> = executor.metadata.iter().collect();
    let pairs: Vec<_> = sorted.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if pairs.is_empty() { "-".to_owned() } else { pairs.join(",") }
}
