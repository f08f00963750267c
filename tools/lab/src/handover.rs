//! Moves and restarts under open-loop traffic: is any request lost, and how long is
//! nobody there?
//!
//! One server, executors and a spectator in this process; requests go over HTTP on
//! loopback through `RouteLayer`. Each adds one to a counter of its shard, which
//! travels with the shard: what was answered and what was counted must agree, so
//! that a request that two owners served, or that was counted and forgotten, shows.

mod moves;
mod outage;
mod restart;
mod service;
mod traffic;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::figures::print;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Which experiments; all if none is named
    #[arg(value_enum)]
    names: Vec<Name>,
    #[command(flatten)]
    load: Load,
    /// Print JSON, an object a line
    #[arg(long)]
    json: bool,
}

/// What the service is and what comes in.
#[derive(Args, Clone, Copy, Debug)]
struct Load {
    #[arg(long, default_value_t = 1_000)]
    shards: u64,
    #[arg(long, default_value_t = 10)]
    executors: usize,
    /// Requests a second, whatever becomes of the earlier ones
    #[arg(long, default_value_t = 1_000.0)]
    rate: f64,
    /// How long a request is served, in milliseconds
    #[arg(long, default_value_t = 1)]
    work: u64,
}

impl Load {
    fn work(&self) -> Duration {
        Duration::from_millis(self.work)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Name {
    /// Every shard moves once, by draining one host after the other
    Moves,
    /// Every executor is replaced by one of another version, one after the other
    Restart,
    /// The same where each replacement comes up before the old one goes
    Surge,
    /// The same where shards are kept for those that come back
    Return,
    /// No server for three seconds
    Outage,
}

pub(crate) async fn run(options: Options) -> Result<()> {
    let names = if options.names.is_empty() { Name::value_variants() } else { &options.names };
    for name in names {
        eprintln!("measuring {name:?} ...");
        let figures = match name {
            Name::Moves => moves::measure(options.load).await?,
            Name::Restart => restart::measure(options.load, restart::Kind::Hand).await?,
            Name::Outage => outage::measure(options.load).await?,
            Name::Surge => restart::measure(options.load, restart::Kind::Surge).await?,
            Name::Return => restart::measure(options.load, restart::Kind::Keep).await?,
        };
        for figure in figures {
            print(&figure, options.json);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Load = Load { shards: 60, executors: 3, rate: 300.0, work: 1 };

    #[tokio::test(flavor = "multi_thread")]
    async fn no_request_is_lost_when_every_shard_moves() {
        let figures = moves::measure(SMALL).await.unwrap();
        assert!(figures[0].reached, "{}", figures[0].measured);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_request_fails_while_shards_are_kept_for_executors_that_come_back() {
        let figures = restart::measure(SMALL, restart::Kind::Keep).await.unwrap();
        assert!(figures[0].reached, "{}", figures[0].measured);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_request_fails_and_nothing_is_restarted_while_no_server_is_there() {
        let figures = outage::measure(SMALL).await.unwrap();
        assert!(figures[0].reached, "{}", figures[0].measured);
    }
}
