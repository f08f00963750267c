//! `cargo xtask`: what a contributor runs: tests, all checks, the layer check.
//!
//! Links no crate of the product, so that it builds when the product does not,
//! and decides nothing that a check of cargo or clippy decides already.

mod ci;
mod figures;
mod layers;
mod mutations;
mod packages;
mod protoc;
mod step;
mod test;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tests and checks of the Plimsoll workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything a newcomer needs run: all tests and documentation tests
    Test(test::Arguments),
    /// Run everything that must hold before a change is merged
    Ci(test::Arguments),
    /// Check that dependencies only point down
    Layers,
    /// Put faults into the sources, one at a time: the tests must find them
    Mutations(mutations::Arguments),
    /// Measure what docs/results.md shows
    Figures(figures::Arguments),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Test(arguments) => test::run(&arguments),
        Command::Ci(arguments) => ci::run(&arguments),
        Command::Layers => layers::run(),
        Command::Mutations(arguments) => mutations::run(&arguments),
        Command::Figures(arguments) => figures::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
