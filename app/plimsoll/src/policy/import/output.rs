//! Proposals on the screen and in files.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use plimsoll_shedding::proposal::{Proposal, Proposed};
use serde::Serialize;

use super::super::print;

/// What `--json` prints of one service.
#[derive(Debug, Serialize)]
struct Service<'a> {
    service: &'a str,
    calls: u64,
    hours: f64,
    bypass: &'a [String],
    rules: Vec<Line<'a>>,
    unclear: Vec<Line<'a>>,
    policy: String,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    endpoint: Option<&'a str>,
    caller: Option<&'a str>,
    criticality: u8,
    because: String,
    calls: u64,
}

impl<'a> Service<'a> {
    fn new(proposal: &'a Proposal) -> Self {
        Self {
            service: &proposal.service,
            calls: proposal.calls,
            hours: proposal.seconds as f64 / 3600.0,
            bypass: &proposal.bypass,
            rules: proposal.rules.iter().map(line).collect(),
            unclear: proposal.unclear.iter().map(line).collect(),
            policy: proposal.text(),
        }
    }
}

fn line(it: &Proposed) -> Line<'_> {
    Line {
        endpoint: it.endpoint.as_deref(),
        caller: it.caller.as_deref(),
        criticality: it.level.level(),
        because: it.because.to_string(),
        calls: it.calls,
    }
}

/// One policy as it is; of several, which there are.
pub(super) fn print_all(proposals: &[Proposal], as_json: bool) -> Result<()> {
    let text = match proposals {
        all if as_json => {
            let all: Vec<Service<'_>> = all.iter().map(Service::new).collect();
            serde_json::to_string_pretty(&all)? + "\n"
        }
        [one] => one.text(),
        all => table(all),
    };
    print(&text, &mut std::io::stdout())
}

fn table(all: &[Proposal]) -> String {
    let mut text = format!("{:<40} {:>8} {:>6} {:>8}\n", "SERVICE", "CALLS", "RULES", "UNCLEAR");
    for it in all {
        let (rules, unclear) = (it.rules.len(), it.unclear.len());
        text += &format!("{:<40} {:>8} {rules:>6} {unclear:>8}\n", it.service, it.calls);
    }
    text + "\nOne policy: --service NAME. All of them, a file each: --out FOLDER\n"
}

/// `path` is a file for the only service that was named, else a folder.
pub(super) fn write_files(
    path: &Path,
    proposals: &[Proposal],
    is_one: bool,
    force: bool,
) -> Result<()> {
    if let ([one], true) = (proposals, is_one && !path.is_dir()) {
        return write_file(path, one, force);
    }
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
    proposals.iter().try_for_each(|it| {
        let name = it.service.replace(|c: char| !c.is_alphanumeric() && !"-_.".contains(c), "_");
        write_file(&path.join(name.trim_start_matches('.').to_owned() + ".toml"), it, force)
    })
}

/// A draft that somebody has corrected is not written over.
fn write_file(path: &Path, proposal: &Proposal, force: bool) -> Result<()> {
    let file = if force { File::create(path) } else { File::create_new(path) };
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} is there already: --force writes over it", path.display())
        }
        file => file.with_context(|| format!("cannot write {}", path.display()))?,
    };
    let written = file.write_all(proposal.text().as_bytes());
    written.with_context(|| format!("cannot write {}", path.display()))?;
    let (rules, unclear) = (proposal.rules.len(), proposal.unclear.len());
    eprintln!("{}: {rules} rules, {unclear} unclear", path.display());
    Ok(())
}
