//! The first step of every run: what the service carries, and how fast it is when
//! it is idle. Everything after is a factor of that.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_peers::Pool;
use plimsoll_peers::none::None as Unprotected;
use plimsoll_shedding::Criticality;

use crate::case::Place;
use crate::io::{ServicePlan, closed_loop, open_loop};
use crate::load::{Piece, Stream, arrivals};
use crate::report::number;
use crate::schedule::{RATE_AT_ONCE, SERVED_AT_ONCE};
use crate::sockets::{self, Kind};
use crate::stats::{median, quantile};

/// Callers for each place of the service: enough that no place is ever empty.
const CALLERS_A_PLACE: usize = 4;
/// The load, over the capacity, at which a service is idle.
const IDLE: f64 = 0.05;

/// Requests a second, and the latencies of an idle service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacities {
    /// Of the service in this process, if any case needs it.
    pub here: Option<Here>,
    /// Of servers behind sockets.
    pub sockets: Vec<Served>,
}

/// Of a server process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    pub kind: Kind,
    /// Requests a second: the median of as many as run at once.
    pub together: f64,
    pub at_once: usize,
    /// Of one that had the machine for itself.
    pub alone: f64,
}

/// Of the service in this process.
#[derive(Clone, Debug, PartialEq)]
pub struct Here {
    /// Requests a second: the median of several closed loops that ran at once, as many
    /// as the cases will be.
    pub together: f64,
    /// How many ran at once.
    pub at_once: usize,
    /// Of one that had the machine for itself.
    pub alone: f64,
    pub idle_p50_ms: f64,
    pub idle_p99_ms: f64,
}

impl Capacities {
    /// Measures for `span` each, what these places need.
    ///
    /// # Errors
    /// A runtime or a server process cannot be started.
    pub fn measure<'a>(
        span: Duration,
        places: impl Iterator<Item = &'a Place> + Clone,
    ) -> Result<Self> {
        let in_process = places.clone().any(|it| matches!(it, Place::Io(_)));
        let here = in_process.then(|| Here::measure(span)).transpose()?;
        let mut sockets: Vec<Served> = Vec::new();
        for place in places {
            if let Place::Sockets(server) = place
                && sockets.iter().all(|it| it.kind != server.kind)
            {
                sockets.push(Served::measure(server.kind, span)?);
            }
        }
        Ok(Self { here, sockets })
    }

    /// Of a service in this process that is known to carry that.
    pub fn known(rate: f64) -> Self {
        let here =
            Here { together: rate, at_once: 1, alone: rate, idle_p50_ms: 10.0, idle_p99_ms: 50.0 };
        Self { here: Some(here), sockets: Vec::new() }
    }

    /// The capacity of that service. One in this process other than the usual one
    /// is taken to carry what its places and its mean say.
    pub fn of(&self, place: &Place) -> f64 {
        let nominal = |plan: &ServicePlan| plan.places as f64 / plan.mean.as_secs_f64();
        let usual = ServicePlan::default();
        match place {
            Place::Io(plan) if plan.mean == usual.mean => {
                self.here.as_ref().map_or(nominal(plan), |it| it.together)
            }
            Place::Io(plan) => nominal(plan),
            Place::Sockets(server) => {
                let known = self.sockets.iter().find(|it| it.kind == server.kind);
                known.map_or(nominal(&usual), |it| it.together)
            }
            Place::Pair(_) => nominal(&usual),
        }
    }

    /// What it lacks is taken from an earlier run.
    #[must_use]
    pub fn or(mut self, earlier: Self) -> Self {
        self.here = self.here.or(earlier.here);
        for served in earlier.sockets {
            if self.sockets.iter().all(|it| it.kind != served.kind) {
                self.sockets.push(served);
            }
        }
        self
    }
}

/// In words, for the head of the page.
impl fmt::Display for Capacities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(Here { together, at_once, alone, idle_p50_ms, idle_p99_ms }) = &self.here {
            let change = change(*together, *alone);
            let (p50, p99) = (number(*idle_p50_ms), number(*idle_p99_ms));
            parts.push(format!(
                "C = {together:.0} requests a second in process (median of {at_once} closed \
                 loops at once; {alone:.0} alone, {change:+.1} %); idle p50 {p50} ms, p99 {p99} ms"
            ));
        }
        parts.extend(self.sockets.iter().map(Served::to_string));
        f.write_str(&parts.join("; "))
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, together, at_once, alone } = *self;
        write!(f, "{together:.0} of a server process with handlers that {}", kind.verb())?;
        if at_once == 1 {
            return Ok(());
        }
        let change = change(together, alone);
        write!(f, " (median of {at_once} at once; {alone:.0} alone, {change:+.1} %)")
    }
}

/// In percent.
fn change(together: f64, alone: f64) -> f64 {
    100.0 * (together / alone - 1.0)
}

impl Served {
    fn measure(kind: Kind, span: Duration) -> Result<Self> {
        let alone = sockets::capacity(kind, span)?;
        let at_once = match kind {
            Kind::Io => ((SERVED_AT_ONCE / alone).round() as usize).clamp(1, 20),
            Kind::Cpu | Kind::Bare => 1,
        };
        let together = match at_once {
            1 => alone,
            _ => {
                median(&at_once_each(at_once, |_| sockets::capacity(kind, span))?).unwrap_or(alone)
            }
        };
        Ok(Self { kind, together, at_once, alone })
    }
}

impl Here {
    fn measure(span: Duration) -> Result<Self> {
        let alone = closed(1, span)?;
        let at_once = ((RATE_AT_ONCE / alone).round() as usize).clamp(1, 200);
        let together = median(&at_once_each(at_once, |seed| closed(seed, span))?).unwrap_or(alone);
        let mut idle = idle(together, span)?;
        Ok(Self {
            together,
            at_once,
            alone,
            idle_p50_ms: quantile(&mut idle, 0.5).unwrap_or(0.0),
            idle_p99_ms: quantile(&mut idle, 0.99).unwrap_or(0.0),
        })
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

/// What each of so many comes to when they run at once, numbered from 1.
fn at_once_each(number: usize, one: impl Fn(u64) -> Result<f64> + Sync) -> Result<Vec<f64>> {
    let one = &one;
    std::thread::scope(|scope| {
        let all: Vec<_> = (1..=number as u64).map(|seed| scope.spawn(move || one(seed))).collect();
        let joined = all.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|it| it.unwrap_or_else(|_| anyhow::bail!("a closed loop panicked"))).collect()
    })
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
