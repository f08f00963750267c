//! The seed's third: what the shedder costs when nothing is overloaded.
//!
//! A server with and one without it on the same core, in turn, five endpoints at 100
//! requests a second each; the CPU time of each process, from /proc. Handlers that
//! compute for a millisecond are the seed's case; handlers that do nothing at all the
//! worst, since then it is all HTTP/2 and us.

use plimsoll_shedding::Criticality;

use super::{Chart, Experiment, Scope, io_case};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::load::{Piece, Stream};
use crate::shedders::Shedder;
use crate::sockets::{Kind, Pair};

const NAME: &str = "overhead";
const ENDPOINTS: u32 = 5;
/// Requests a second for each endpoint.
const RATE: f64 = 100.0;
/// Pairs of processes for each seed that was asked for: two processes that run the
/// same program differ by where their memory lies, and only more of them show it.
const PAIRS_A_SEED: u64 = 5;
/// Rounds of four turns of each pair of processes.
const ROUNDS: u32 = 2;
/// Seconds of a turn.
const TURN: f64 = 0.3;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G4",
    about: "two server processes on one core, with and without the layer, asked in turn for 0.3 s each (ABBA BAAB, five pairs of processes a seed), 5 endpoints at 100 requests a second each; handlers of about 0.7 ms CPU, and (bare) handlers that do nothing",
    cases,
    columns: &[
        "cpu_us_a_request",
        "cpu_us_a_request_without",
        "extra_cpu_us_a_request",
        "cpu_over_none",
        "p50_ms",
        "p99_ms",
    ],
    relative: &[],
    goals: &[
        goal("CPU over that without, handlers of 0.7 ms, upper 95 %", "cpu", 1.01),
        goal("CPU over that without, handlers that do nothing, upper 95 %", "bare", 1.01),
    ],
    chart: Chart::Bars {
        figures: &["cpu_us_a_request_without", "cpu_us_a_request"],
        title: "CPU a request without and with the layer, handlers of 0.7 ms",
        unit: "µs",
        variant: "cpu",
    },
};

const fn goal(about: &'static str, variant: &'static str, most: f64) -> Goal {
    Goal {
        about,
        number: "G4",
        variant,
        factor: None,
        figure: "cpu_over_none",
        of: Of::Upper95,
        bound: Bound::AtMost(most),
    }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let kinds = [("cpu", Kind::Cpu), ("bare", Kind::Bare)];
    let kinds = &kinds[..if scope.quick { 1 } else { 2 }];
    let pairs = scope.repeated(PAIRS_A_SEED);
    let of = |&(variant, kind): &(&'static str, Kind)| {
        pairs.each(&[Shedder::Plimsoll], move |shedder, seed| {
            let turns = f64::from(2 * ROUNDS);
            let case = io_case(NAME, shedder, seed, 0.0, TURN * turns, streams());
            let place = Place::Pair(Pair { kind, rounds: ROUNDS });
            Case { variant, place, per_second: true, ..case }
        })
    };
    kinds.iter().flat_map(of).collect()
}

/// One turn. Factors are requests a second here: see [`Case::per_second`].
fn streams() -> Vec<Stream> {
    let pieces = vec![Piece { from: 0.0, to: TURN, factor: RATE }];
    let to = |endpoint| {
        let levels = [Criticality::CoreFlow, Criticality::Internal];
        Stream::new(levels[endpoint as usize % 2], pieces.clone()).to(endpoint)
    };
    (0..ENDPOINTS).map(to).collect()
}
