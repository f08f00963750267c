//! `plimsoll dev`: the whole system on one machine, to look at and to try.
//!
//! A server with the embedded store, a namespace filled from a snapshot, one
//! executor for every host of it and a spectator that sends requests along the
//! map, all over loopback gRPC. Starts from the snapshot's placement, measures,
//! then lets the server balance.

mod cluster;
mod executor;
mod oracle;
mod report;
mod screen;
mod source;
mod summary;
mod traffic;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tokio::time::Instant;

use cluster::Cluster;
use report::{Report, Reporter};
use summary::Summary;
use traffic::Traffic;

/// How often the state is asked for and shown on a terminal.
const REFRESH: Duration = Duration::from_millis(250);
/// How often a line is printed without one.
const LINE: Duration = Duration::from_secs(1);
/// Requests a second along the map.
const RATE: u32 = 500;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// A CSV file (shard,load,host) or a generator: zipf-0.8, lognormal-1, mostly-idle, ...
    #[arg(long, value_name = "FILE|GENERATOR", default_value = "zipf-0.8")]
    snapshot: String,
    /// Executors to run, if not one for every host of the snapshot
    #[arg(long, value_name = "N")]
    executors: Option<usize>,
    /// Stop after this long, e.g. 30s, and print a summary
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    run_for: Option<Duration>,
    /// Seed of the generator and of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object at the end instead of a line
    #[arg(long)]
    json: bool,
    /// gRPC address of the server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7943")]
    grpc: String,
    /// HTTP address of the server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7944")]
    http: String,
    /// Name of the namespace
    #[arg(long, default_value = "dev")]
    namespace: String,
}

fn duration(text: &str) -> Result<Duration, String> {
    let fits = plimsoll_ownership::duration::parse(text).filter(|span| !span.is_zero());
    fits.ok_or_else(|| format!("{text:?} is not a duration such as 30s or 2m"))
}

pub(crate) fn run(options: Options) -> Result<ExitCode> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "error".to_owned());
    plimsoll_telemetry::logging::init(plimsoll_telemetry::logging::Format::Text, &filter)?;
    tokio::runtime::Runtime::new().context("cannot start the runtime")?.block_on(develop(options))
}

async fn develop(options: Options) -> Result<ExitCode> {
    let snapshot = source::load(&options.snapshot, options.seed, options.executors)?;
    let cluster = Cluster::start(&options, &snapshot).await?;
    let traffic = Traffic::start(&cluster, &snapshot, RATE, options.seed).await?;
    let mut reporter = Reporter::new(&cluster, &traffic);
    let start = reporter.until_measured().await?;
    cluster.resume_balance().await?;
    watch(&options, &cluster, &mut reporter, &start).await?;
    traffic.stop().await;
    let end = reporter.report().await?;
    let summary = Summary::new(&options.snapshot, &start, &end);
    cluster.stop().await;
    summary.print(options.json);
    Ok(if summary.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Shows the state until the time is over or somebody has seen enough.
async fn watch(
    options: &Options,
    cluster: &Cluster,
    reporter: &mut Reporter,
    start: &Report,
) -> Result<()> {
    let ends_at = options.run_for.map(|span| Instant::now() + span);
    if std::io::stdout().is_terminal() && !options.json {
        screen::show(cluster, reporter, start, ends_at).await
    } else {
        print_lines(cluster, reporter, ends_at).await
    }
}

async fn print_lines(
    cluster: &Cluster,
    reporter: &mut Reporter,
    ends_at: Option<Instant>,
) -> Result<()> {
    eprintln!("{}", cluster.addresses());
    let mut lines = tokio::time::interval(LINE);
    loop {
        tokio::select! {
            _ = lines.tick() => eprintln!("{}", reporter.report().await?.line()),
            () = end(ends_at) => return Ok(()),
            interrupted = tokio::signal::ctrl_c() => {
                return interrupted.context("cannot listen for Ctrl-C");
            }
        }
    }
}

async fn end(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// A snapshot that everybody reads.
type Loads = Arc<std::collections::HashMap<String, f64>>;
