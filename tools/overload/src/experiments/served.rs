//! The seed's first, second and fourth over real sockets: a server process on one
//! core, the client on another, handlers that wait or that compute.
//!
//! Their names are the experiments' with the kind of handler after it, so that
//! `degradation/cpu` stands beside `degradation`.

use std::time::Duration;

use plimsoll_shedding::Criticality;

use super::{SERVED_WARM_UP, Scope, io_case, two_levels_served};
use crate::case::{Case, Extra, Place};
use crate::load::{Piece, Stream};
use crate::shedders::Shedder;
use crate::sockets::{Kind, Server};

const THESE: &[Shedder] = &[Shedder::Plimsoll, Shedder::None, Shedder::QalmDequeue];
/// The first alone in a quick run.
const KINDS: [(&str, Kind); 2] = [("cpu", Kind::Cpu), ("sockets", Kind::Io)];
/// For what an unprotected server will not answer any more.
const DRAIN: Duration = Duration::from_secs(1);

fn kinds(scope: &Scope) -> Vec<(&'static str, Kind)> {
    KINDS.into_iter().take(if scope.quick { 1 } else { KINDS.len() }).collect()
}

/// Ours and none alone in a quick run.
fn shedders(scope: &Scope) -> &'static [Shedder] {
    if scope.quick { &THESE[..2] } else { THESE }
}

/// Levels 2 and 4 at these loads, against both kinds of handlers.
pub(super) fn two_callers(
    scope: &Scope,
    experiment: &'static str,
    critical: f64,
    other: f64,
    factor: f64,
) -> Vec<Case> {
    let span = scope.span(5.0, 4.0);
    let of = |(variant, kind): (&'static str, Kind)| {
        scope.each(shedders(scope), move |shedder, seed| {
            let streams = two_levels_served(critical, other, span);
            let case = io_case(experiment, shedder, seed, factor, span, streams);
            Case { variant, place: Place::Sockets(Server::new(kind)), drain: DRAIN, ..case }
        })
    };
    kinds(scope).into_iter().flat_map(of).collect()
}

/// An endpoint at `victim` beside one at each of these loads, on the same places
/// and the same core.
pub(super) fn two_endpoints(
    scope: &Scope,
    experiment: &'static str,
    victim: f64,
    loads: &'static [f64],
    extra: Extra,
) -> Vec<Case> {
    let span = scope.span(5.0, 4.0);
    let of = |(variant, kind): (&'static str, Kind)| {
        // A quick run takes the heaviest alone.
        let loads = if scope.quick { &loads[loads.len() - 1..] } else { loads };
        loads.iter().flat_map(move |&load| {
            let shedders = [Shedder::Plimsoll, Shedder::None];
            let shedders = &shedders[..if load == 0.0 { 1 } else { 2 }];
            scope.each(shedders, move |shedder, seed| {
                let stream = |factor: f64| {
                    let pieces = vec![Piece { from: -SERVED_WARM_UP, to: span, factor }];
                    Stream::new(Criticality::Feature, pieces)
                };
                let streams = vec![stream(victim), stream(load).by(1).to(1)];
                let case = io_case(experiment, shedder, seed, load, span, streams);
                let place = Place::Sockets(Server::new(kind));
                Case { variant, place, drain: DRAIN, extra, ..case }
            })
        })
    };
    kinds(scope).into_iter().flat_map(of).collect()
}
