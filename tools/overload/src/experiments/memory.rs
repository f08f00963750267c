//! What the server process grows by at ten times the capacity.

use super::{CRITICAL, Chart, Experiment, Scope, io_case, two_levels_served};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::shedders::Shedder;
use crate::sockets::{Kind, Server};

const NAME: &str = "memory";
const LOAD: f64 = 10.0;
const CONNECTIONS: usize = 400;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G20",
    about: "a server process at 10 C over 400 connections, 6 s (the goal's five minutes and 10,000 connections are more than this client can open)",
    cases,
    columns: &["server_rss_growth_mib", "server_rss_mib", "critical_success", "lag_p99_ms"],
    relative: &[],
    goals: &[Goal {
        about: "growth of resident memory at 10 C, MiB",
        number: "G20",
        variant: "",
        factor: None,
        figure: "server_rss_growth_mib",
        of: Of::Worst,
        bound: Bound::AtMost(64.0),
    }],
    chart: Chart::Bars {
        figures: &["server_rss_growth_mib"],
        title: "Growth of resident memory at 10 C",
        unit: "MiB",
        variant: "",
    },
};

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(6.0, 4.0);
    scope.each(&[Shedder::Plimsoll, Shedder::None], |shedder, seed| {
        let server = Server { connections: CONNECTIONS, ..Server::new(Kind::Io) };
        let streams = two_levels_served(CRITICAL, LOAD - CRITICAL, span);
        let case = io_case(NAME, shedder, seed, LOAD, span, streams);
        Case { place: Place::Sockets(server), ..case }
    })
}
