//! `cargo xtask figures`: the laboratory measures what docs/results.md shows.

use anyhow::Result;
use clap::Args;

use crate::step::succeed;
use crate::workspace;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// For the laboratory
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut lab = workspace::cargo(&["run", "--release", "-p", "lab", "--", "figures"]);
    succeed(lab.args(&arguments.rest))
}
