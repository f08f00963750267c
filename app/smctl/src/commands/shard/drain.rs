//! `shard drain`: an operator's order that shards run nowhere.
//!
//! A Go server knows such drains too, but keeps neither reason nor user.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::{sharddistributor as go, v1};
use serde::Serialize;

use super::Shards;
use crate::os_user;
use crate::output::{self, Colour, coloured, say};
use crate::rpc_error::RpcError;
use crate::server::Server;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    shards: Shards,

    /// Why, for those who will ask
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Drained {
    namespace: String,
    shard_keys: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    drained_by: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
}

pub(crate) async fn run(session: &Session, arguments: Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let shard_keys = arguments.shards.keys()?;
    let server = session.server()?;
    let order =
        Drained { namespace, shard_keys, drained_by: os_user::name(), reason: arguments.reason };
    let drained = match drain(&server, &order).await {
        Err(error) if RpcError::is_unimplemented(&error) => {
            drain_at_go_server(&server, order).await?
        }
        Err(error) => return Err(error),
        Ok(()) => order,
    };
    output::print_json(&drained)
}

async fn drain(server: &Server, order: &Drained) -> Result<()> {
    let request = server.request(v1::DrainShardsRequest {
        namespace: order.namespace.clone(),
        shard_keys: order.shard_keys.clone(),
        reason: order.reason.clone(),
        drained_by: order.drained_by.clone(),
    });
    server.call("DrainShards", server.admin().drain_shards(request)).await?;
    Ok(())
}

async fn drain_at_go_server(server: &Server, order: Drained) -> Result<Drained> {
    let request = server.request(go::DrainShardsRequest {
        namespace: order.namespace.clone(),
        shard_keys: order.shard_keys.clone(),
    });
    server.call("DrainShards", server.go().drain_shards(request)).await?;
    if !order.reason.is_empty() {
        say(&coloured(Colour::Yellow, "Note: this server keeps no reasons for drained shards."));
    }
    Ok(Drained { drained_by: String::new(), reason: String::new(), ..order })
}
