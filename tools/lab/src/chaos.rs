//! `lab chaos`: three servers, three members of etcd, ten executors and four
//! spectators as real processes, which are killed, stopped, starved and cut off
//! from each other while an oracle reads what the executors write down.
//!
//! It changes nothing of the system and knows nothing of its inside but two
//! figures that everybody can read: who leads, and how many requests there were.

mod addresses;
mod binary;
mod book;
mod executor;
mod fault;
mod gauges;
mod ground;
mod inflict;
mod links;
mod namespaces;
mod operator;
mod oracle;
mod probe;
mod record;
mod report;
mod run;
mod scene;
mod spectator;
mod story;
mod well;
mod windows;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

pub(crate) use self::executor::Options as ExecutorOptions;
use self::fault::Kind;
use self::ground::{Cut, Ground};
pub(crate) use self::spectator::Options as SpectatorOptions;
pub(crate) use self::{executor::run as run_executor, spectator::run as run_spectator};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How long faults follow each other
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Decides order, victims and times; drawn if it is not given
    #[arg(long)]
    seed: Option<u64>,
    /// Only these, with commas between; all if none is given
    #[arg(long, value_delimiter = ',', value_name = "FAULT")]
    faults: Vec<Kind>,
    /// Say what faults there are, and nothing else
    #[arg(long)]
    list: bool,
    /// How links are cut
    #[arg(long, value_enum, default_value_t = Cut::Auto)]
    links: Cut,
    /// This run has namespaces of its own: it began itself anew
    #[arg(long, hide = true)]
    inside: bool,
    /// A plimsoll binary; by default one is built beside this program
    #[arg(long, value_name = "FILE")]
    plimsoll: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Keep every log, also if all is well; by default only those of a failure
    #[arg(long)]
    keep: bool,
}

pub(crate) async fn run(options: Options) -> Result<()> {
    if options.list {
        for kind in Kind::all() {
            println!("{:<22} {}", kind.as_str(), kind.what());
        }
        return Ok(());
    }
    let mut more = Vec::new();
    let plimsoll = match options.plimsoll {
        Some(given) => given,
        // Before there are namespaces: cargo may need the network.
        None => {
            let built = binary::build()?;
            more = vec!["--plimsoll".into(), built.clone().into()];
            built
        }
    };
    let why = (!options.inside).then(|| ground::enter(options.links, &more)).transpose()?;
    let folder = tempfile::Builder::new().prefix("plimsoll-chaos-").tempdir();
    let folder = folder.context("cannot make a folder for the run")?;
    let ground = why.map_or_else(|| Ground::inside(folder.path()), Ground::outside);
    let recipe = run::Recipe {
        seed: options.seed.unwrap_or_else(rand::random),
        span: Duration::from_secs_f64(options.minutes * 60.0),
        kinds: possible(options.faults, &ground)?,
        plimsoll,
    };
    let finished = run::run(&recipe, folder.path(), ground).await;
    let well = finished.as_ref().is_ok_and(|report| report.violations.is_empty());
    if options.keep || !well {
        eprintln!("everything that was written down: {}", folder.keep().display());
    }
    let report = finished?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}", report.table());
    }
    if !well {
        bail!("{} violations; again with --seed {}", report.violations.len(), recipe.seed);
    }
    Ok(())
}

/// All that can be done here, if none are asked for.
fn possible(asked: Vec<Kind>, ground: &Ground) -> Result<Vec<Kind>> {
    if asked.is_empty() {
        return Ok(Kind::all().filter(|kind| ground.allows(*kind)).collect());
    }
    match asked.iter().find(|kind| !ground.allows(**kind)) {
        Some(kind) => bail!("{kind} cannot be done here: {ground}"),
        None => Ok(asked),
    }
}
