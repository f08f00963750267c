//! `shard inspect`: who owns a shard, creating nothing.

use anyhow::Result;
use plimsoll_wire::sharddistributor::InspectShardRequest;

use super::OneShard;
use crate::go_views::ShardOwner;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session, shard: &OneShard) -> Result<()> {
    let namespace = session.namespace()?;
    let shard_key = shard.key()?;
    let server = session.server()?;
    let request = server.request(InspectShardRequest { shard_key, namespace });
    let answer = server.call("InspectShard", server.go().inspect_shard(request)).await?;
    output::print_json(&ShardOwner::from(answer))
}
