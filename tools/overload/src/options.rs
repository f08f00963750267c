//! The command line of `lab overload`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::case::{Case, Place};
use crate::experiments::{Experiment, Scope};
use crate::shedders::Shedder;

/// Which experiments, how long, and where the results go.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Experiments by name, or `all`
    #[arg(required = true)]
    names: Vec<String>,
    /// One seed and short phases
    #[arg(long)]
    quick: bool,
    /// Print JSON, one line a case, instead of tables
    #[arg(long)]
    pub json: bool,
    /// Write every figure of every case to this file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write a chart of each experiment into this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Write the page of results to this file
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Only this part of the cases, so that a record can be taken in two
    #[arg(long, value_enum)]
    pub part: Option<Part>,
    /// Put the outcomes of an earlier run, from its --csv, beside this one's
    #[arg(long, value_name = "FILE")]
    pub with: Option<PathBuf>,
    /// Seeds: runs of every case [default: 5; with --quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Only these shedders [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    shedder: Vec<String>,
}

/// A part of the cases.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub enum Part {
    /// Those in this process, many at once.
    Waits,
    /// Those with server processes, mostly one by one.
    Sockets,
}

impl Part {
    /// Whether that case belongs to it.
    pub fn has(self, case: &Case) -> bool {
        matches!(case.place, Place::Io(_)) == (self == Self::Waits)
    }

    fn other(self) -> Self {
        match self {
            Self::Waits => Self::Sockets,
            Self::Sockets => Self::Waits,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Sockets => "sockets",
        }
    }
}

impl Options {
    /// The experiments that are named.
    ///
    /// # Errors
    /// One that does not exist, with those that do.
    pub fn experiments(&self) -> Result<Vec<&'static Experiment>> {
        if self.names.iter().any(|name| name == "all") {
            return Ok(Experiment::ALL.iter().collect());
        }
        self.names.iter().map(|name| named(name)).collect()
    }

    /// How much of each is to be run.
    ///
    /// # Errors
    /// A shedder that does not exist, with those that do.
    pub fn scope(&self) -> Result<Scope> {
        let seeds = self.seeds.unwrap_or(if self.quick { 1 } else { 5 });
        let shedders: Result<_> = self.shedder.iter().map(|name| shedder(name)).collect();
        Ok(Scope { quick: self.quick, seeds, shedders: shedders? })
    }

    /// What was typed, without the files to write; of a record in two parts, both.
    pub fn whole_command(&self) -> String {
        let command = self.command(&self.names.join(" "));
        match (self.part, &self.with) {
            (None, _) => command,
            (Some(part), None) => format!("{command} --part {}", part.word()),
            (Some(part), Some(file)) => {
                let (other, file) = (part.other().word(), file.display());
                format!(
                    "{command} --part {other} --csv {file}` and then \
                     `{command} --part {} --with {file}",
                    part.word()
                )
            }
        }
    }

    /// What measures one experiment alone, in the same way.
    pub fn command(&self, name: &str) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let seeds = self.seeds.map(|it| format!(" --seeds {it}")).unwrap_or_default();
        let shedders = match self.shedder.join(",") {
            none if none.is_empty() => none,
            some => format!(" --shedder {some}"),
        };
        format!("cargo run --release -p lab -- overload {name}{quick}{seeds}{shedders}")
    }
}

fn named(name: &str) -> Result<&'static Experiment> {
    let Some(found) = Experiment::ALL.iter().find(|it| it.name == name) else {
        let known: Vec<_> = Experiment::ALL.iter().map(|it| it.name).collect();
        bail!("there is no experiment {name:?}; there are all, {}", known.join(", "));
    };
    Ok(found)
}

fn shedder(name: &str) -> Result<Shedder> {
    let Some(found) = Shedder::named(name) else {
        let known = Shedder::ALL.map(Shedder::name).join(", ");
        bail!("there is no shedder {name:?}; there are {known}");
    };
    Ok(found)
}
