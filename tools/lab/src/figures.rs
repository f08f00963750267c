//! The figures of docs/results.md, each measured here and now.

mod creation;
mod failover;
mod fanout;
mod handover;
mod heartbeats;
mod lookup;
mod memory;
mod planning;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Which figures; all if none is named
    #[arg(value_enum)]
    names: Vec<Name>,
    /// Print JSON, an object a line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Name {
    Lookup,
    Heartbeats,
    Creation,
    Handover,
    Failover,
    Fanout,
    Memory,
    Planning,
}

/// One figure: what was measured against what it is to reach.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) measured: String,
    pub(crate) to_reach: &'static str,
    pub(crate) reached: bool,
}

pub(crate) async fn run(options: Options) -> Result<()> {
    let names = if options.names.is_empty() { Name::value_variants() } else { &options.names };
    for name in names {
        eprintln!("measuring {name:?} ...");
        for figure in measure(*name).await? {
            print(&figure, options.json);
        }
    }
    Ok(())
}

async fn measure(name: Name) -> Result<Vec<Figure>> {
    match name {
        Name::Lookup => lookup::measure().await,
        Name::Heartbeats => heartbeats::measure().await,
        Name::Creation => creation::measure().await,
        Name::Handover => handover::measure().await,
        Name::Failover => failover::measure().await,
        Name::Fanout => fanout::measure().await,
        Name::Memory => memory::measure().await,
        Name::Planning => Ok(planning::measure()),
    }
}

pub(crate) fn print(figure: &Figure, json: bool) {
    if json {
        // A plain struct of strings always serializes.
        println!("{}", serde_json::to_string(figure).unwrap_or_default());
        return;
    }
    let mark = if figure.reached { "reached" } else { "MISSED" };
    println!("{:<10} {}  (to reach: {}; {mark})", figure.name, figure.measured, figure.to_reach);
}
