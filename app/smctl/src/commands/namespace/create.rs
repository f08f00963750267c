//! `namespace create`: a new namespace, empty or placed as in a snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use plimsoll_wire::v1::{CreateNamespaceRequest, InitialGrant};
use serde::Serialize;

use crate::output;
use crate::session::Session;
use crate::settings;
use crate::snapshot_file::{self, Row};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the new namespace
    name: String,

    /// fixed: shards "0" to N-1; ephemeral: any key, created on first use
    #[arg(long = "type", value_name = "TYPE")]
    kind: Kind,

    /// Number of shards of a fixed namespace (default: as many as the snapshot has)
    #[arg(long, value_name = "N")]
    shards: Option<u64>,

    /// A setting of the namespace, repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = settings::parse)]
    settings: Vec<(String, String)>,

    /// Begin with the owners of a snapshot: its host column names executors
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    /// Make no move for balance until `balance resume`
    #[arg(long)]
    frozen: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Kind {
    Fixed,
    Ephemeral,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Created {
    namespace: String,
    r#type: String,
    shard_num: u64,
    initial_grants: usize,
    frozen: bool,
}

pub(crate) async fn run(session: &Session, arguments: Arguments) -> Result<()> {
    let message = message(arguments)?;
    let created = Created {
        namespace: message.name.clone(),
        r#type: message.r#type.clone(),
        shard_num: message.shard_num,
        initial_grants: message.initial_grants.len(),
        frozen: message.frozen,
    };
    let server = session.server()?;
    let request = server.request(message);
    server.call("CreateNamespace", server.admin().create_namespace(request)).await?;
    output::print_json(&created)
}

fn message(arguments: Arguments) -> Result<CreateNamespaceRequest> {
    let rows = arguments.snapshot.as_deref().map(read).transpose()?;
    let shard_num = shard_num(arguments.kind, arguments.shards, rows.as_deref())?;
    Ok(CreateNamespaceRequest {
        name: arguments.name,
        r#type: arguments.kind.as_str().to_owned(),
        shard_num,
        settings: settings::collect(&arguments.settings)?,
        initial_grants: rows.into_iter().flatten().filter_map(grant).collect(),
        frozen: arguments.frozen,
    })
}

fn read(path: &Path) -> Result<Vec<Row>> {
    let cannot = || format!("cannot use the snapshot {}", path.display());
    let text = fs::read_to_string(path).with_context(cannot)?;
    snapshot_file::parse(&text).with_context(cannot)
}

fn shard_num(kind: Kind, shards: Option<u64>, rows: Option<&[Row]>) -> Result<u64> {
    match (kind, shards, rows) {
        (Kind::Ephemeral, None, _) => Ok(0),
        (Kind::Ephemeral, Some(_), _) => {
            bail!("--shards is only for --type fixed: an ephemeral namespace has any key")
        }
        (Kind::Fixed, None, None) => bail!("--shards is required for --type fixed"),
        (Kind::Fixed, Some(shards), None) => Ok(shards),
        (Kind::Fixed, shards, Some(rows)) => shards_of_snapshot(shards, rows),
    }
}

fn shards_of_snapshot(shards: Option<u64>, rows: &[Row]) -> Result<u64> {
    let shards = shards.unwrap_or(rows.len() as u64);
    let fits = |row: &&Row| row.shard.parse::<u64>().is_ok_and(|key| key < shards);
    if let Some(row) = rows.iter().find(|row| !fits(row)) {
        bail!(
            "shard {:?} of the snapshot is none of \"0\" to \"{}\"",
            row.shard,
            shards.max(1) - 1
        );
    }
    ensure!(shards > 0, "the snapshot has no shards: give --shards");
    Ok(shards)
}

fn grant(row: Row) -> Option<InitialGrant> {
    let Row { shard, host, .. } = row;
    (!host.is_empty()).then_some(InitialGrant { shard_key: shard, executor_id: host })
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Ephemeral => "ephemeral",
        }
    }
}
