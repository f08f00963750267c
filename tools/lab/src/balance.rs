//! Experiments on balance: those of `plimsoll-balance`, and the one with real
//! processes.

pub(crate) mod burner;
mod live;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use plimsoll_balance::{Experiment, Output};

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Subcommand)]
enum What {
    #[command(flatten)]
    Virtual(Experiment),
    /// Real executors that burn CPU under one real server, before and after
    Live(live::Options),
    /// Every experiment with its defaults, but `live`
    All {
        /// Folder for the CSV, SVG and JSON of each
        #[arg(long, value_name = "DIR", default_value = "target/balance")]
        into: PathBuf,
    },
}

pub(crate) async fn run(options: Options) -> Result<()> {
    match options.what {
        What::Virtual(experiment) => plimsoll_balance::run(&experiment, &options.output),
        What::Live(live) => live::run(live).await?.emit(&options.output),
        What::All { into } => plimsoll_balance::run_all(&into),
    }
}
