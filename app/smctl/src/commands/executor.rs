//! `executor`: list executors and drain their hosts.

mod drain;
mod list;
mod list_drained;
mod state;
mod undrain;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::session::{Session, required_all};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List executors registered in a namespace
    #[command(visible_alias = "ls")]
    List(list::Arguments),

    /// Print the current state of an executor
    #[command(visible_alias = "st")]
    State(state::Arguments),

    /// Drain executor hosts so their executors are no longer assigned shards
    ///
    /// Shows what each host holds and asks before it does anything. An already
    /// drained host keeps its first date, user and reason.
    Drain(drain::Arguments),

    /// Undrain executor hosts so their executors can be assigned shards again
    Undrain(Hosts),

    /// List executor hosts currently drained in a namespace, as JSON
    ListDrained,
}

/// The flag of commands about hosts.
#[derive(Args, Debug)]
pub(crate) struct Hosts {
    /// Hostname reported by the executor heartbeat (repeat for several hosts)
    #[arg(long, num_args = 1.., value_delimiter = ',')]
    hostname: Vec<String>,
}

impl Hosts {
    fn names(&self) -> Result<Vec<String>> {
        required_all("hostname", &self.hostname)
    }
}

pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::List(arguments) => list::run(session, &arguments).await,
        Command::State(arguments) => state::run(session, &arguments).await,
        Command::Drain(arguments) => drain::run(session, arguments).await,
        Command::Undrain(hosts) => undrain::run(session, &hosts).await,
        Command::ListDrained => list_drained::run(session).await,
    }
}
