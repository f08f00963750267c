//! `namespace`: make, inspect, set up and remove namespaces.

mod create;
mod delete;
mod describe;
mod force_reset;
mod list;
mod settings;
mod snapshot;
mod state;

use anyhow::Result;
use clap::Subcommand;

use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List all namespaces configured on the shard-manager fleet
    #[command(visible_alias = "ls")]
    List(list::Arguments),

    /// Print the current state of a namespace
    #[command(visible_alias = "st")]
    State,

    /// Delete all stored state of a namespace
    ///
    /// Asks for the name of the namespace. Executors register again with their
    /// next heartbeat.
    #[command(visible_alias = "fr")]
    ForceReset,

    /// Create a namespace
    Create(create::Arguments),

    /// Delete a namespace and stop its shards
    Delete(delete::Arguments),

    /// Show or change the settings of a namespace
    Settings(settings::Arguments),

    /// Show how a namespace is doing
    Describe(describe::Arguments),

    /// Write the loads and owners of all shards as CSV
    Snapshot(snapshot::Arguments),
}

pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::List(arguments) => list::run(session, &arguments).await,
        Command::State => state::run(session).await,
        Command::ForceReset => force_reset::run(session).await,
        Command::Create(arguments) => create::run(session, arguments).await,
        Command::Delete(arguments) => delete::run(session, arguments).await,
        Command::Settings(arguments) => settings::run(session, &arguments).await,
        Command::Describe(arguments) => describe::run(session, &arguments).await,
        Command::Snapshot(arguments) => snapshot::run(session, &arguments).await,
    }
}
