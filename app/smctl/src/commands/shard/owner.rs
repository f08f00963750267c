//! `shard owner`: the question that spectators ask. Unlike `shard inspect` it
//! creates a shard of an ephemeral namespace that does not exist.

use anyhow::Result;
use plimsoll_wire::sharddistributor::GetShardOwnerRequest;

use super::OneShard;
use crate::go_views::ShardOwner;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session, shard: &OneShard) -> Result<()> {
    let namespace = session.namespace()?;
    let shard_key = shard.key()?;
    let server = session.server()?;
    let request = server.request(GetShardOwnerRequest { shard_key, namespace });
    let answer = server.call("GetShardOwner", server.go().get_shard_owner(request)).await?;
    output::print_json(&ShardOwner::from(answer))
}
