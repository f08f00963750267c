//! The first step of every run: what the service carries, and how fast it is when
//! it is idle. Everything after is a factor of that.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_peers::Pool;
use plimsoll_peers::none::None as Unprotected;
use plimsoll_shedding::Criticality;

use crate::case::Place;
use crate::io::{ServicePlan, closed_loop, open_loop};
use crate::load::{Piece, Stream, arrivals};
use crate::sockets::{self, Server};
use crate::stats::{median, quantile};

/// Callers for each place of the service: enough that no place is ever empty.
const CALLERS_A_PLACE: usize = 4;
/// The load, over the capacity, at which a service is idle.
const IDLE: f64 = 0.05;
/// Closed loops that are run at once, as the cases will be.
const AT_ONCE: u64 = 8;

/// Requests a second, and the latencies of an idle service.
#[derive(Clone, Debug)]
pub struct Capacities {
    /// Of the service in this process: the median of several that ran at once.
    pub io: f64,
    /// Of one that had the machine for itself.
    pub io_alone: f64,
    pub idle_p50_ms: f64,
    pub idle_p99_ms: f64,
    /// Of servers behind sockets.
    pub sockets: Vec<(Server, f64)>,
}

impl Capacities {
    /// Measures for `span` each. `servers`: those that cases will need.
    ///
    /// # Errors
    /// A runtime or a server process cannot be started.
    pub fn measure(span: Duration, servers: &[Server]) -> Result<Self> {
        let io_alone = closed(1, span)?;
        let together: Result<Vec<f64>> = std::thread::scope(|scope| {
            let loops: Vec<_> =
                (1..=AT_ONCE).map(|seed| scope.spawn(move || closed(seed, span))).collect();
            let joined = loops.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined
                .map(|it| it.unwrap_or_else(|_| anyhow::bail!("a closed loop panicked")))
                .collect()
        });
        let io = median(&together?).unwrap_or(io_alone);
        let mut idle = idle(io, span)?;
        let of = |server: &Server| Ok((server.clone(), sockets::capacity(server, span)?));
        Ok(Self {
            io,
            io_alone,
            idle_p50_ms: quantile(&mut idle, 0.5).unwrap_or(0.0),
            idle_p99_ms: quantile(&mut idle, 0.99).unwrap_or(0.0),
            sockets: servers.iter().map(of).collect::<Result<_>>()?,
        })
    }

    /// The capacity of that service. One in this process other than the usual one
    /// is taken to carry what its places and its mean say.
    pub fn of(&self, place: &Place) -> f64 {
        match place {
            Place::Io(plan) if plan.mean == ServicePlan::default().mean => self.io,
            Place::Io(plan) => plan.places as f64 / plan.mean.as_secs_f64(),
            Place::Sockets(server) => {
                let known = self.sockets.iter().find(|(it, _)| it.kind == server.kind);
                known.map_or(self.io, |(_, capacity)| *capacity)
            }
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().context("cannot start a runtime")
}

fn closed(seed: u64, span: Duration) -> Result<f64> {
    let plan = ServicePlan::default();
    let callers = CALLERS_A_PLACE * plan.places;
    Ok(runtime()?.block_on(closed_loop(plan, callers, span / 5, span, seed)))
}

/// Latencies in milliseconds at hardly any load.
fn idle(capacity: f64, span: Duration) -> Result<Vec<f64>> {
    let piece = Piece { from: 0.0, to: span.as_secs_f64(), factor: IDLE };
    let arrivals = arrivals(&[Stream::new(Criticality::CoreFlow, vec![piece])], capacity, 1);
    let admission = Arc::new(Pool::new(Unprotected));
    let plan = ServicePlan::default();
    let run = open_loop(admission, plan, &arrivals, 1, Duration::from_secs(5));
    Ok(runtime()?.block_on(run).iter().map(|record| record.latency_ms).collect())
}
