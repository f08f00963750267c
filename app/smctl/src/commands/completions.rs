//! `completions SHELL`: a script for the shell to source.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output;

/// Print a completion script, e.g. for bash:
/// `source <(smctl completions bash)`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The shell that will read it
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "smctl", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
