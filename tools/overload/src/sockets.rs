//! The variant with real sockets: a server process of its own, HTTP/2, and a client
//! in this process; each on a core of its own if `taskset` is there.

mod child;
mod client;
mod pair;
mod pin;
pub mod server;
mod work;

use std::time::Duration;

use anyhow::{Context, Result};

use crate::case::Case;
use crate::load::arrivals;
use crate::record::Record;
use crate::shedders::Shedder;

use child::Child;
pub(crate) use child::can_fake_clock;
pub use pair::{Pair, run as run_pair};

/// What a handler of the server does.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub enum Kind {
    /// It waits: 16 places, exponential 10 ms.
    Io,
    /// It computes for about a millisecond, on the server's only thread.
    Cpu,
    /// It answers at once.
    Bare,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Io, Self::Cpu, Self::Bare];

    /// As on the command line of the server.
    pub fn word(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::Cpu => "cpu",
            Self::Bare => "bare",
        }
    }

    /// What its handlers do.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Io => "wait",
            Self::Cpu => "compute",
            Self::Bare => "do nothing",
        }
    }
}

/// A server to be started, and what is done to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub kind: Kind,
    /// HTTP/2 connections that the client opens.
    pub connections: usize,
    /// When it is stopped for a second, in seconds of the case.
    pub stops: Vec<f64>,
    /// When its wall clock jumps by an hour, forth and back in turn.
    pub jumps: Vec<f64>,
}

impl Server {
    /// One to which nothing is done, behind two connections.
    pub fn new(kind: Kind) -> Self {
        Self { kind, connections: 2, stops: Vec::new(), jumps: Vec::new() }
    }
}

/// The records of a case and what was measured of the server process.
#[derive(Debug)]
pub struct Ran {
    pub records: Vec<Record>,
    pub figures: Vec<(&'static str, f64)>,
}

/// The endpoint that asks for the server's health and nothing else.
pub const HEALTH: u32 = 5;

/// Paths by number of the endpoint.
const PATHS: [&str; 6] = ["/apply", "/cards", "/trips", "/riders", "/fares", "/healthz"];
/// A path whose answers stay open.
const OPEN: &str = "/live";

/// Runs a case against a server of its own.
///
/// # Errors
/// The server process or a connection cannot be started.
pub fn run(case: &Case, server: &Server, capacity: f64) -> Result<Ran> {
    let child = Child::start(server, case.shedder, capacity)?;
    let unit = if case.per_second { 1.0 } else { capacity };
    let arrivals = arrivals(&case.streams, unit, case.seed);
    let before = child.usage();
    let (port, connections) = (child.port(), server.connections);
    let (say, started) = std::sync::mpsc::channel();
    let records = std::thread::scope(|scope| {
        let arrivals = &arrivals;
        // The sender goes with the client: if it cannot start, no word comes.
        let client =
            scope.spawn(move || client::open_loop(port, connections, arrivals, case.drain, &say));
        if let Ok(origin) = started.recv() {
            child.disturb(server, origin);
        }
        client.join().unwrap_or_else(|_| anyhow::bail!("the client panicked"))
    })?;
    let after = child.usage();
    let figures = vec![
        ("server_cpu_us_a_request", (after.cpu_us - before.cpu_us) / records.len().max(1) as f64),
        ("server_rss_growth_mib", after.rss_mib - before.rss_mib),
        ("server_rss_mib", after.rss_mib),
    ];
    Ok(Ran { records, figures })
}

/// What an unprotected server of that kind carries, by a closed loop.
///
/// # Errors
/// As [`run`].
pub fn capacity(kind: Kind, span: Duration) -> Result<f64> {
    const CALLERS: usize = 64;
    let child = Child::start(&Server::new(kind), Shedder::None, 0.0)?;
    let port = child.port();
    let client = std::thread::spawn(move || client::closed_loop(port, CALLERS, span));
    client.join().ok().context("the client panicked")?
}
