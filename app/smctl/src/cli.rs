//! The root command: the flags that every command shares and the groups below.
//!
//! Names, aliases, variables and defaults are the Go tool's.

use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::commands::{balance, completions, executor, man, namespace, shard, top};
use crate::go_duration;

/// `<release> (commit <rev>)`.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("SMCTL_COMMIT"), ")");

/// Command-line client for shard-manager
///
/// Inspect and manage shard-manager namespaces. Prints data on stdout and talk
/// on stderr; exits 0 if all went well and 1 on any error.
#[derive(Debug, Parser)]
#[command(name = "smctl", version = VERSION, disable_version_flag = true)]
pub(crate) struct Cli {
    /// Print version
    #[arg(long, short = 'v', short_alias = 'V', action = ArgAction::Version)]
    version: Option<bool>,

    #[command(flatten)]
    pub(crate) connection: Connection,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Whom to talk to, and about which namespace. Accepted before and after the
/// command.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Connection {
    /// Namespace to operate on (required by commands that target a namespace)
    #[arg(long, short = 'n', global = true, env = "SMCTL_NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// host:port of the shard-manager service
    #[arg(
        long,
        visible_alias = "ad",
        global = true,
        env = "SMCTL_ADDRESS",
        default_value = "127.0.0.1:7943"
    )]
    pub(crate) address: String,

    /// Transport protocol; only 'grpc' is supported
    #[arg(long, short = 't', global = true, env = "SMCTL_TRANSPORT", default_value = "grpc")]
    pub(crate) transport: String,

    /// Path to the CA certificate of the server; enables TLS when set
    #[arg(long, visible_alias = "tcp", global = true, env = "SMCTL_TLS_CERT_PATH")]
    pub(crate) tls_cert_path: Option<String>,

    /// Timeout for each RPC call, e.g. 500ms, 10s, 1m30s
    #[arg(
        long,
        visible_alias = "ct",
        global = true,
        env = "SMCTL_CONTEXT_TIMEOUT",
        default_value = "10s",
        value_parser = go_duration::parse
    )]
    pub(crate) context_timeout: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Inspect and manage shard-manager namespaces
    #[command(visible_alias = "ns", subcommand)]
    Namespace(namespace::Command),

    /// Inspect and manage shard-manager shards
    #[command(visible_alias = "sh", subcommand)]
    Shard(shard::Command),

    /// Inspect and manage shard-manager executors
    #[command(visible_alias = "ex", subcommand)]
    Executor(executor::Command),

    /// Freeze, resume and preview the moves for balance
    #[command(subcommand)]
    Balance(balance::Command),

    /// Watch the load of executors and the hottest shards
    Top(top::Arguments),

    /// Print a completion script for a shell
    Completions(completions::Arguments),

    /// Print the manual page
    Man(man::Arguments),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_tree_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn version_names_release_and_commit() {
        assert!(VERSION.starts_with(env!("CARGO_PKG_VERSION")));
        assert!(VERSION.contains(" (commit ") && VERSION.ends_with(')'));
    }
}
