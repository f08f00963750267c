//! The seed's third: what the shedder costs when nothing is overloaded.
//!
//! A server with and one without it, in turn, five endpoints at 100 requests a
//! second each; the CPU time of the server's thread a request, from its schedstat.
//! Handlers that compute for a millisecond are the seed's case; handlers that do
//! nothing at all the worst, since then it is all HTTP/2 and us.

use plimsoll_shedding::Criticality;

use super::{Chart, Experiment, Relative, Scope, To, io_case};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::load::{Piece, Stream};
use crate::shedders::Shedder;
use crate::sockets::{Kind, Server};

const NAME: &str = "overhead";
const ENDPOINTS: u32 = 5;
/// Requests a second for each endpoint.
const RATE: f64 = 100.0;
/// Pairs of runs for each seed that was asked for.
const PAIRS_A_SEED: u64 = 2;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G4",
    about: "a server process with and without the layer in turn, 5 endpoints at 100 requests a second each, 3.5 s a run; handlers of about 1 ms CPU, and (bare) handlers that do nothing",
    cases,
    columns: &["server_cpu_us_a_request", "cpu_over_none", "p50_ms", "p99_ms"],
    relative: &[Relative {
        name: "cpu_over_none",
        figure: "server_cpu_us_a_request",
        to: To::Shedder(Shedder::None),
    }],
    goals: &[
        goal("CPU over that without, handlers of 1 ms, upper 95 %", "cpu", 1.01),
        goal("CPU over that without, handlers that do nothing, upper 95 %", "bare", 1.01),
    ],
    chart: Chart::Bars {
        figures: &["server_cpu_us_a_request"],
        title: "CPU a request, handlers of 1 ms",
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
    let span = scope.span(3.5, 3.0);
    let kinds = [("cpu", Kind::Cpu), ("bare", Kind::Bare)];
    let kinds = &kinds[..if scope.quick { 1 } else { 2 }];
    let pairs = scope.repeated(PAIRS_A_SEED);
    let of = |&(variant, kind): &(&'static str, Kind)| {
        pairs.each(&[Shedder::None, Shedder::Plimsoll], move |shedder, seed| {
            let case = io_case(NAME, shedder, seed, 0.0, span, streams(span));
            Case { variant, place: Place::Sockets(Server::new(kind)), per_second: true, ..case }
        })
    };
    kinds.iter().flat_map(of).collect()
}

/// Factors are requests a second here: see [`Case::per_second`].
fn streams(span: f64) -> Vec<Stream> {
    let pieces = vec![Piece { from: -0.5, to: span, factor: RATE }];
    let to = |endpoint| {
        let levels = [Criticality::CoreFlow, Criticality::Internal];
        Stream::new(levels[endpoint as usize % 2], pieces.clone()).to(endpoint)
    };
    (0..ENDPOINTS).map(to).collect()
}
