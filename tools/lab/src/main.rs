//! The laboratory: experiments and figures, never shipped.

mod balance;
mod child;
mod figures;
mod measure;
mod overload;
mod setup;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// Experiments on Plimsoll.
#[derive(Debug, Parser)]
#[command(name = "lab")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure the figures of docs/results.md on this machine.
    Figures(figures::Options),
    /// Planners side by side, on snapshots, in virtual time and with real processes.
    Balance(balance::Options),
    /// Shedders side by side under overload, as factors of the measured capacity.
    Overload(overload::Options),
    /// An executor that can be killed; `figures failover` starts it.
    #[command(hide = true)]
    Executor(child::Options),
    /// An executor that burns CPU; `balance live` starts it.
    #[command(hide = true)]
    Burner(balance::burner::Options),
    /// A server behind a shedder; `overload` starts it.
    #[command(hide = true)]
    OverloadServer(overload::ServerOptions),
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    match cli.command {
        Command::Figures(options) => runtime.block_on(figures::run(options)),
        Command::Balance(options) => runtime.block_on(balance::run(options)),
        Command::Executor(options) => runtime.block_on(child::run(options)),
        Command::Burner(options) => runtime.block_on(balance::burner::run(options)),
        Command::Overload(options) => overload::run(&options),
        Command::OverloadServer(options) => overload::serve(&options),
    }
}
