//! `shard list-drained`: drained shards, by whom, why, and what still runs.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::sharddistributor::GetDrainedShardsRequest;
use plimsoll_wire::v1::{Drain, ListDrainsRequest};
use serde::Serialize;

use crate::figures;
use crate::go_time;
use crate::natural_order;
use crate::output;
use crate::rpc_error::RpcError;
use crate::server::Server;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Print JSON instead of a table
    #[arg(long, short = 'j')]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct View {
    namespace: String,
    shards: Vec<DrainView>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct DrainView {
    shard_key: String,
    drained_at: String,
    drained_by: String,
    reason: String,
    waiting_for: String,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let mut shards = match drains(&server, &namespace).await {
        Err(error) if RpcError::is_unimplemented(&error) => bare_drains(&server, &namespace).await,
        answer => answer,
    }?;
    shards.sort_by(|a, b| natural_order::compare(&a.name, &b.name));
    if arguments.json {
        output::print_json(&View { namespace, shards: shards.into_iter().map(view).collect() })
    } else {
        output::print_table(&table(&shards))
    }
}

async fn drains(server: &Server, namespace: &str) -> Result<Vec<Drain>> {
    let request = server.request(ListDrainsRequest { namespace: namespace.to_owned() });
    let answer = server.call("ListDrains", server.admin().list_drains(request)).await?;
    Ok(answer.shards)
}

/// All that a Go server knows: the keys.
async fn bare_drains(server: &Server, namespace: &str) -> Result<Vec<Drain>> {
    let request = server.request(GetDrainedShardsRequest { namespace: namespace.to_owned() });
    let answer = server.call("GetDrainedShards", server.go().get_drained_shards(request)).await?;
    let bare = |name| Drain { name, ..Drain::default() };
    Ok(answer.shard_keys.into_iter().map(bare).collect())
}

fn table(shards: &[Drain]) -> String {
    let heading = "SHARD_KEY\tDRAINED_AT\tDRAINED_BY\tREASON\tWAITING_FOR\n";
    format!("{heading}{}", shards.iter().map(line).collect::<String>())
}

fn line(drain: &Drain) -> String {
    let at = go_time::seconds(drain.drained_at.as_ref());
    let [by, reason, waiting] =
        [&drain.drained_by, &drain.reason, &drain.waiting_for].map(|text| figures::or_dash(text));
    format!("{}\t{at}\t{by}\t{reason}\t{waiting}\n", drain.name)
}

fn view(drain: Drain) -> DrainView {
    DrainView {
        drained_at: go_time::nanos(drain.drained_at.as_ref()),
        shard_key: drain.name,
        drained_by: drain.drained_by,
        reason: drain.reason,
        waiting_for: drain.waiting_for,
    }
}
