//! The laboratory: experiments and figures, never shipped.

mod balance;
mod chaos;
mod child;
mod figures;
mod handover;
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
    /// Moves and restarts under traffic: what is lost, and how long nobody serves.
    Handover(handover::Options),
    /// Planners side by side, on snapshots, in virtual time and with real processes.
    Balance(balance::Options),
    /// Shedders side by side under overload, as factors of the measured capacity.
    Overload(overload::Options),
    /// Break a whole system of real processes, and see whether a shard ever has two owners.
    Chaos(chaos::Options),
    /// An executor that writes down what it runs; `chaos` starts it.
    #[command(hide = true)]
    ChaosExecutor(chaos::ExecutorOptions),
    /// A spectator that sends requests; `chaos` starts it.
    #[command(hide = true)]
    ChaosSpectator(chaos::SpectatorOptions),
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
        Command::Handover(options) => runtime.block_on(handover::run(options)),
        Command::Balance(options) => runtime.block_on(balance::run(options)),
        Command::Chaos(options) => runtime.block_on(chaos::run(options)),
        Command::ChaosExecutor(options) => runtime.block_on(chaos::run_executor(options)),
        Command::ChaosSpectator(options) => runtime.block_on(chaos::run_spectator(options)),
        Command::Executor(options) => runtime.block_on(child::run(options)),
        Command::Burner(options) => runtime.block_on(balance::burner::run(options)),
        Command::Overload(options) => overload::run(&options),
        Command::OverloadServer(options) => overload::serve(&options),
    }
}
