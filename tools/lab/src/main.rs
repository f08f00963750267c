//! The laboratory: experiments and figures, never shipped.

mod child;
mod figures;
mod measure;
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
    /// An executor that can be killed; `figures failover` starts it.
    #[command(hide = true)]
    Executor(child::Options),
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
        Command::Executor(options) => runtime.block_on(child::run(options)),
    }
}
