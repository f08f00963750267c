//! `plimsoll policy check`: whether a policy file is valid, and what it does.

mod explain;
mod report;
mod text;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use plimsoll_qalm::PolicyFileError;
use plimsoll_qalm::policy_file::Loaded;
use serde::Serialize;

use report::Report;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say whether a policy file is valid, what in it does nothing, and what would
    /// happen to a request.
    Check(Check),
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The policy file; see docs/qalm-tune.md
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Explain what would happen there, e.g. /orders.v1.Orders/Get or 'GET /v1/users/7'
    #[arg(long, value_name = "ENDPOINT")]
    endpoint: Option<String>,
    /// Who calls; without it, somebody who gives no name
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    caller: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    file: &'a Path,
    valid: bool,
    error: Option<Trouble>,
    #[serde(flatten)]
    report: Option<Report>,
}

#[derive(Debug, Serialize)]
struct Trouble {
    line: Option<usize>,
    message: String,
}

pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    let Command::Check(check) = command;
    let loaded = Loaded::read(&check.file);
    if check.json {
        let text = serde_json::to_string_pretty(&answer(check, &loaded))? + "\n";
        print(&text, &mut std::io::stdout())?;
        return Ok(if loaded.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let report = report(check, &loaded?);
    print(&text::of(&check.file, &report), &mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// Who has stopped reading, as in `| head`, wants no more, and that is no failure.
fn print(text: &str, out: &mut impl Write) -> Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot print what the policy does"),
    }
}

fn report(check: &Check, loaded: &Loaded) -> Report {
    let explain = |it: &String| explain::explain(&loaded.table, it, check.caller.as_deref());
    Report::new(loaded, check.endpoint.as_ref().map(explain))
}

fn answer<'a>(check: &'a Check, loaded: &Result<Loaded, PolicyFileError>) -> Answer<'a> {
    let trouble =
        |error: &PolicyFileError| Trouble { line: error.line(), message: error.to_string() };
    Answer {
        file: &check.file,
        valid: loaded.is_ok(),
        error: loaded.as_ref().err().map(trouble),
        report: loaded.as_ref().ok().map(|loaded| report(check, loaded)),
    }
}

#[cfg(test)]
mod tests;
