//! `man`: the manual, made from the same definitions as `--help`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

use crate::cli::Cli;
use crate::output;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Write a page for every command into this folder instead
    #[arg(long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.directory {
        Some(folder) => clap_mangen::generate_to(Cli::command(), folder)
            .with_context(|| format!("cannot write manual pages into {}", folder.display())),
        None => print_root_page(),
    }
}

fn print_root_page() -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    output::print(&String::from_utf8_lossy(&page))
}
