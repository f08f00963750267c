//! `namespace snapshot`: the loads and owners of all shards as CSV, for
//! `namespace create --snapshot`, `plimsoll dev` and the laboratory.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use plimsoll_wire::v1::{GetLoadsRequest, GetLoadsResponse, OwnedLoad};

use crate::output;
use crate::session::Session;
use crate::snapshot_file::{self, Row};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Write to this file instead of stdout
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let message = GetLoadsRequest { namespace, all_shards: true, ..GetLoadsRequest::default() };
    let loads = server.call("GetLoads", server.admin().get_loads(server.request(message))).await?;
    warn_of_unmeasured(&loads.shards);
    let hosts = hosts(&loads);
    let text = snapshot_file::write(loads.shards.into_iter().map(row).collect(), hosts);
    deliver(&text, arguments.output.as_deref())
}

fn deliver(text: &str, file: Option<&Path>) -> Result<()> {
    match file {
        None => output::print(text),
        Some(file) => {
            fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
        }
    }
}

fn warn_of_unmeasured(shards: &[OwnedLoad]) {
    let unmeasured = shards.iter().filter(|shard| shard.smoothed_load.is_none()).count();
    if unmeasured > 0 {
        let all = shards.len();
        output::say(&format!(
            "{unmeasured} of {all} shards are not measured yet: written as load 0"
        ));
    }
}

/// Executors that could own something, and those that still do.
fn hosts(loads: &GetLoadsResponse) -> usize {
    let known = loads.executors.iter().map(|executor| &executor.executor_id);
    let owners = loads.shards.iter().map(|shard| &shard.executor_id);
    known.chain(owners).filter(|id| !id.is_empty()).collect::<HashSet<_>>().len()
}

fn row(shard: OwnedLoad) -> Row {
    Row {
        load: shard.smoothed_load.unwrap_or(0.0),
        shard: shard.shard_key,
        host: shard.executor_id,
    }
}
