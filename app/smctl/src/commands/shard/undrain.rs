//! `shard undrain`: lifts drains; says which shards were drained at all.

use anyhow::Result;
use plimsoll_wire::sharddistributor::UndrainShardsRequest;
use serde::Serialize;

use super::Shards;
use crate::go_views::nil_if_empty;
use crate::output;
use crate::session::Session;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Undrained {
    undrained_shard_keys: Option<Vec<String>>,
}

pub(crate) async fn run(session: &Session, shards: &Shards) -> Result<()> {
    let namespace = session.namespace()?;
    let shard_keys = shards.keys()?;
    let server = session.server()?;
    let request = server.request(UndrainShardsRequest { namespace, shard_keys });
    let answer = server.call("UndrainShards", server.go().undrain_shards(request)).await?;
    output::print_json(&Undrained {
        undrained_shard_keys: nil_if_empty(answer.undrained_shard_keys),
    })
}
