//! `plimsoll policy`: whether a policy file is valid and what it does, the policies
//! that servers keep, and first policies from traces.

mod diff;
mod explain;
mod get;
mod header;
mod history;
mod import;
mod list;
#[path = "../../smctl/src/os_user.rs"]
mod os_user;
mod preview;
mod remote;
mod report;
mod rollback;
mod set;
mod table;
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
    /// List the services that have a policy on the server, or instances there.
    List(list::List),
    /// Print a service's policy, as a policy file that `set` takes back.
    Get(get::Get),
    /// Save a policy file as the next revision of a service's policy.
    ///
    /// Every instance that is connected gets it within a second. If somebody else has
    /// saved since the file was got, nothing is saved and the exit code is 3.
    Set(set::Set),
    /// Show what is different between two revisions, or a file and the newest.
    Diff(diff::Diff),
    /// Bring the text of an earlier revision back, as the next one.
    Rollback(rollback::Rollback),
    /// Show who changed what, and why.
    History(history::History),
    /// Say what a policy file would have done with the traffic of the last minutes.
    Preview(preview::Preview),
    /// Propose endpoints, callers and first criticalities from Jaeger's traces.
    ImportJaeger(Box<import::ImportJaeger>),
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
    match command {
        Command::Check(check) => run_check(check),
        Command::List(list) => list.run(),
        Command::Get(get) => get.run(),
        Command::Set(set) => set.run(),
        Command::Diff(diff) => diff.run(),
        Command::Rollback(rollback) => rollback.run(),
        Command::History(history) => history.run(),
        Command::Preview(preview) => preview.run(),
        Command::ImportJaeger(import) => import.run(),
    }
}

fn run_check(check: &Check) -> Result<ExitCode> {
    let loaded = Loaded::read(&check.file);
    if check.json {
        print_json(&answer(check, &loaded))?;
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

fn print_json(value: &impl Serialize) -> Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"), &mut std::io::stdout())
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
