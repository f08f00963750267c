//! From arguments to an exit code: 0 if all went well, 1 on any error, also on
//! a wrong flag (the Go tool knows no other code).

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::{commands, problem, single_dash};

pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = single_dash::doubled(arguments);
    match Cli::try_parse_from(&arguments) {
        Ok(cli) => finish(run(cli)),
        Err(error) if is_half_a_command(&error) => show_help_of(arguments),
        Err(error) => explain_usage(&error),
    }
}

fn run(cli: Cli) -> Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(commands::run(cli))
}

fn finish(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has gone away, as in `smctl ... | head`.
        Err(error) if problem::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            problem::print(&error);
            ExitCode::FAILURE
        }
    }
}

fn is_half_a_command(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// A group named without a command is a question, as in the Go tool.
fn show_help_of(mut arguments: Vec<OsString>) -> ExitCode {
    arguments.push("--help".into());
    Cli::try_parse_from(arguments).err().map_or(ExitCode::FAILURE, |help| explain_usage(&help))
}

fn explain_usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let answered = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if answered { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
