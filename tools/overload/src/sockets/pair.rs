//! What a shedder costs in CPU, to a fraction of a percent.
//!
//! Two servers live on the same core, one with the shedder and one without, and are
//! asked in turn for a fraction of a second each, with the same requests: whatever
//! slows the machine for longer than that slows both. Each is charged with the CPU time
//! of all its threads while it is asked, so also with what its background tasks use
//! then. Two routes of one process would share those tasks and hide them.

use std::time::Duration;

use anyhow::Result;

use super::child::Child;
use super::client::Client;
use super::{Kind, Ran, Server};
use crate::case::Case;
use crate::load::{Arrival, arrivals};
use crate::record::Record;
use crate::shedders::Shedder;

/// Two servers that are asked in turn. A case's streams are one turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pair {
    pub kind: Kind,
    /// Rounds of four turns: without, with, with, without; the next the other way round.
    pub rounds: u32,
}

/// For the answers of a turn, before the CPU time is read.
const DRAIN: Duration = Duration::from_secs(2);

impl Pair {
    /// Turns in all, the warm-up included.
    pub fn slots(self) -> u32 {
        2 + 4 * self.rounds
    }
}

/// One of the two, and what it has used in its turns.
struct Side {
    child: Child,
    client: Client,
    cpu_us: f64,
    records: Vec<Record>,
    turns: u32,
    /// Seconds of a turn.
    length: f64,
}

impl Side {
    fn start(kind: Kind, shedder: Shedder, length: f64) -> Result<Self> {
        let child = Child::start(&Server::new(kind), shedder, 0.0)?;
        let client = Client::connect(child.port(), 1)?;
        Ok(Self { child, client, cpu_us: 0.0, records: Vec::new(), turns: 0, length })
    }

    fn turn(&mut self, arrivals: &[Arrival]) {
        let before = self.child.usage().cpu_us;
        let records = self.client.send(arrivals, DRAIN);
        self.cpu_us += self.child.usage().cpu_us - before;
        // One turn after the other, as if there had been no other side.
        let from = f64::from(self.turns) * self.length;
        self.records.extend(records.into_iter().map(|it| Record { at: it.at + from, ..it }));
        self.turns += 1;
    }

    fn forget(&mut self) {
        self.cpu_us = 0.0;
        self.records.clear();
        self.turns = 0;
    }
}

/// Runs a case; its records are of the turns of its shedder.
///
/// # Errors
/// A server process or a connection cannot be started.
pub fn run(case: &Case, pair: Pair) -> Result<Ran> {
    super::pin::this_client();
    let mut without = Side::start(pair.kind, Shedder::None, case.length())?;
    let mut with = Side::start(pair.kind, case.shedder, case.length())?;
    let arrivals = |round: u32| arrivals(&case.streams, 1.0, case.seed << 8 | u64::from(round));
    for side in [&mut without, &mut with] {
        side.turn(&arrivals(0));
        side.forget();
    }
    for round in 1..=pair.rounds {
        let arrivals = arrivals(round);
        let (outer, inner) =
            if round % 2 == 1 { (&mut without, &mut with) } else { (&mut with, &mut without) };
        outer.turn(&arrivals);
        inner.turn(&arrivals);
        inner.turn(&arrivals);
        outer.turn(&arrivals);
    }
    Ok(Ran { figures: figures(&without, &with), records: with.records })
}

fn figures(without: &Side, with: &Side) -> Vec<(&'static str, f64)> {
    let each = |side: &Side| side.cpu_us / side.records.len().max(1) as f64;
    vec![
        ("cpu_us_a_request", each(with)),
        ("cpu_us_a_request_without", each(without)),
        ("extra_cpu_us_a_request", each(with) - each(without)),
        ("cpu_over_none", each(with) / each(without)),
    ]
}
