//! `plimsoll loadtest`: arguments, the run, and where its report goes.

mod plan;

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{ArgGroup, Args, ValueEnum};
use plimsoll_loadtest::{
    Caller, Error, Observer, Phase, Plan, Progress, Report, Target, Threshold, WeightedPath, view,
};
use tokio::runtime::Runtime;

/// A threshold is broken.
const BROKEN: u8 = 3;
/// Ended by Ctrl-C, as shells count it.
const INTERRUPTED: u8 = 130;
const CODES: &str = "Exit codes: 0 done; 1 could not start; 2 wrong arguments; \
                     3 a --fail-if was met; 130 ended by Ctrl-C (the report is still printed).";

/// Open-loop: requests start when they are meant to, whatever the answers.
#[derive(Args, Debug)]
#[command(
    after_help = CODES,
    group = ArgGroup::new("how much").required(true).multiple(true).args(["rate", "ramp", "steps"]),
    group = ArgGroup::new("protocol").args(["http1", "http2", "grpc"]),
    group = ArgGroup::new("content").args(["body", "body_file"]),
    group = ArgGroup::new("schema").args(["proto", "descriptors"]),
)]
pub(crate) struct Options {
    /// Where it goes, e.g. http://127.0.0.1:8080/quote
    #[arg(long, value_name = "URL")]
    target: Target,
    /// Requests a second
    #[arg(long, value_name = "R", value_parser = plimsoll_loadtest::parse_rate, requires = "duration")]
    rate: Option<f64>,
    /// How long at --rate, e.g. 30s
    #[arg(long, value_name = "D", value_parser = duration, requires = "rate")]
    duration: Option<Duration>,
    /// From one rate to another in a time, e.g. 100:1000:30s; may be repeated, and comes before --rate
    #[arg(long, value_name = "FROM:TO:D", conflicts_with = "steps")]
    ramp: Vec<Phase>,
    /// Rates one after the other, e.g. 100,200,400
    #[arg(
        long,
        value_name = "R,R,...",
        value_delimiter = ',',
        value_parser = plimsoll_loadtest::parse_rate,
        requires = "step_duration",
        conflicts_with = "rate",
    )]
    steps: Vec<f64>,
    /// How long each of the --steps lasts
    #[arg(long, value_name = "D", value_parser = duration, requires = "steps")]
    step_duration: Option<Duration>,
    /// How requests are spread within the rate
    #[arg(long, value_enum, default_value = "poisson")]
    arrivals: Spread,
    /// Who calls, with criticality and share, e.g. checkout=2:50; may be repeated
    #[arg(long = "caller", value_name = "NAME=LEVEL:SHARE")]
    callers: Vec<Caller>,
    /// Speak HTTP/1.1 [default without TLS; with TLS as negotiated]
    #[arg(long)]
    http1: bool,
    /// Speak HTTP/2 (without TLS by prior knowledge)
    #[arg(long)]
    http2: bool,
    /// Call this unary gRPC method, described by the server's reflection
    #[arg(long, value_name = "PACKAGE.SERVICE/METHOD")]
    grpc: Option<String>,
    /// The .proto file that describes the method, instead of reflection
    #[arg(long, value_name = "FILE", requires = "grpc")]
    proto: Option<PathBuf>,
    /// A folder for the .proto file and its imports [default: the file's own]; may be repeated
    #[arg(long = "include", value_name = "DIR", requires = "proto")]
    includes: Vec<PathBuf>,
    /// A FileDescriptorSet that describes the method, instead of reflection
    #[arg(long, value_name = "FILE", requires = "grpc")]
    descriptors: Option<PathBuf>,
    /// HTTP method
    #[arg(long, default_value = "GET", conflicts_with = "grpc")]
    method: http::Method,
    /// A path instead of the target's, by weight if so written: 3:/quote; may be repeated
    #[arg(long = "path", value_name = "[WEIGHT:]PATH", conflicts_with = "grpc")]
    paths: Vec<WeightedPath>,
    /// A header, e.g. 'authorization: Bearer x'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = plan::header)]
    headers: Vec<plan::Header>,
    /// Body of every request; for gRPC the message as JSON [default for gRPC: {}]
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// Connections [default: up to 1000 for HTTP/1.1, which carries one request on each; else 4]
    #[arg(long, value_name = "N")]
    connections: Option<usize>,
    /// How long after its intended start a request is given up
    #[arg(long, value_name = "D", value_parser = duration, default_value = "10s")]
    timeout: Duration,
    /// Requests under way at once; more are counted as not started
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_in_flight: usize,
    /// Seed of starts, callers and paths
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that send and receive [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Certificates (PEM) that an https target is verified against [default: the system's]
    #[arg(long, value_name = "FILE", env = "SSL_CERT_FILE")]
    ca: Option<PathBuf>,
    /// Print the report as one JSON document instead of a table
    #[arg(long)]
    json: bool,
    /// Write the report as a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Exit with 3 if this holds at the end, e.g. 'p99>100ms' or 'level1:ok<100%'; may be repeated
    #[arg(long = "fail-if", value_name = "CONDITION")]
    fail_if: Vec<Threshold>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Spread {
    Poisson,
    Constant,
}

fn duration(text: &str) -> Result<Duration, String> {
    let fits = plimsoll_ownership::duration::parse(text).filter(|span| !span.is_zero());
    fits.ok_or_else(|| format!("{text:?} is not a duration such as 500ms, 30s or 2m"))
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let plan = plan::plan(options)?;
    // Before the run, so that a wrong path does not cost the report.
    let page = options.html.as_deref().map(create).transpose()?;
    let report = runtime(options.threads)?.block_on(carry_out(plan))?;
    print(&report, options.json)?;
    if let Some((mut file, path)) = page {
        let page = view::html(&report);
        file.write_all(page.as_bytes()).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(exit_code(&report, &options.fail_if))
}

fn create(path: &Path) -> Result<(File, String)> {
    let name = path.display().to_string();
    let file = File::create(path).with_context(|| format!("cannot write {name}"))?;
    Ok((file, name))
}

fn runtime(threads: Option<u16>) -> Result<Runtime> {
    let mut builder = match threads {
        Some(1) => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if let Some(threads) = threads {
        builder.worker_threads(usize::from(threads));
    }
    builder.enable_all().build().context("cannot start the runtime")
}

async fn carry_out(plan: Plan) -> Result<Report, Error> {
    let view = if std::io::stderr().is_terminal() {
        let planned = plan.phases.iter().map(|phase| phase.lasts).sum();
        Shown::Screen(view::Screen::new(&plan.callers, planned))
    } else {
        Shown::Lines(view::Lines)
    };
    plimsoll_loadtest::run(plan, view, interrupted()).await
}

/// One of the two views.
enum Shown {
    Screen(view::Screen),
    Lines(view::Lines),
}

impl Observer for Shown {
    fn progress(&mut self, progress: &Progress) {
        match self {
            Self::Screen(screen) => screen.progress(progress),
            Self::Lines(lines) => lines.progress(progress),
        }
    }
}

/// The first Ctrl-C ends the sending, a second one everything.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    say("ending: waiting for the answers under way; Ctrl-C again to leave without a report");
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
}

fn print(report: &Report, json: bool) -> Result<()> {
    let text = if json {
        serde_json::to_string_pretty(report).context("cannot write the report as JSON")? + "\n"
    } else {
        view::table(report)
    };
    printed(std::io::stdout().write_all(text.as_bytes()))
}

/// Who has stopped reading, as in `| head`, wants no more, and that is no failure.
fn printed(outcome: std::io::Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot print the report"),
    }
}

/// Says something that nobody may be left to read.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn exit_code(report: &Report, thresholds: &[Threshold]) -> ExitCode {
    let broken: Vec<_> = thresholds.iter().filter_map(|it| it.broken_by(report)).collect();
    for how in &broken {
        say(&format!("FAILED: {how}"));
    }
    if report.interrupted {
        ExitCode::from(INTERRUPTED)
    } else if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(BROKEN)
    }
}
