//! `shard`: find, explain and drain single shards.

mod drain;
mod explain;
mod history;
mod inspect;
mod list_drained;
mod owner;
mod undrain;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::session::{Session, required, required_all};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Inspect the current owner of a shard from storage
    #[command(visible_alias = "in")]
    Inspect(OneShard),

    /// Ask who owns a shard, as a spectator does
    ///
    /// In an ephemeral namespace this CREATES the shard if it does not exist;
    /// `shard inspect` never does.
    Owner(OneShard),

    /// Explain why a shard is where it is and why it does not move
    Explain(explain::Arguments),

    /// Show what happened to a shard, or to all of them
    History(history::Arguments),

    /// Drain shards: they stop within a heartbeat and run nowhere
    Drain(drain::Arguments),

    /// Undrain shards so that they may run again
    Undrain(Shards),

    /// List drained shards
    ListDrained(list_drained::Arguments),
}

/// The flag of commands about one shard.
#[derive(Args, Debug)]
pub(crate) struct OneShard {
    /// Shard key to look up
    #[arg(long, visible_alias = "sk")]
    shard_key: Option<String>,
}

/// The flag of commands about any number of shards.
#[derive(Args, Debug)]
pub(crate) struct Shards {
    /// Shard key (repeat for several shards)
    #[arg(long, visible_alias = "sk", num_args = 1..)]
    shard_key: Vec<String>,
}

impl OneShard {
    fn key(&self) -> Result<String> {
        required("shard-key", self.shard_key.as_deref())
    }
}

impl Shards {
    fn keys(&self) -> Result<Vec<String>> {
        required_all("shard-key", &self.shard_key)
    }
}

pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Inspect(shard) => inspect::run(session, &shard).await,
        Command::Owner(shard) => owner::run(session, &shard).await,
        Command::Explain(arguments) => explain::run(session, &arguments).await,
        Command::History(arguments) => history::run(session, arguments).await,
        Command::Drain(arguments) => drain::run(session, arguments).await,
        Command::Undrain(shards) => undrain::run(session, &shards).await,
        Command::ListDrained(arguments) => list_drained::run(session, &arguments).await,
    }
}
