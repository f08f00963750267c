//! The `plimsoll` binary: the server alone, or everything at once to look at.

mod dev;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Keeps the work of a sharded service evenly loaded, and keeps it answering.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the shard manager.
    Server(serve::Options),
    /// Run a server, executors and a spectator on this machine, and watch them.
    Dev(dev::Options),
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Server(options) => serve::run(options),
        Command::Dev(options) => dev::run(options),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("plimsoll: {error:#}");
            ExitCode::FAILURE
        }
    }
}
