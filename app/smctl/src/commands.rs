//! One file a command, one folder a group.

pub(crate) mod balance;
pub(crate) mod completions;
pub(crate) mod executor;
pub(crate) mod man;
pub(crate) mod namespace;
pub(crate) mod shard;
pub(crate) mod top;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::session::Session;

pub(crate) async fn run(cli: Cli) -> Result<()> {
    let session = Session::new(cli.connection);
    match cli.command {
        Command::Namespace(command) => namespace::run(&session, command).await,
        Command::Shard(command) => shard::run(&session, command).await,
        Command::Executor(command) => executor::run(&session, command).await,
        Command::Balance(command) => balance::run(&session, command).await,
        Command::Top(arguments) => top::run(&session, &arguments).await,
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
