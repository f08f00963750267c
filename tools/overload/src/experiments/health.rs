//! Health checks at ten times the capacity.

use std::time::Duration;

use plimsoll_shedding::Criticality;

use super::{CRITICAL, Chart, Experiment, SERVED_WARM_UP, Scope, io_case, two_levels_served};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::load::{Piece, Stream};
use crate::outcome::p99;
use crate::record::Record;
use crate::shedders::Shedder;
use crate::sockets::{HEALTH, Kind, Server};

const NAME: &str = "health";
/// For what an unprotected server will not answer any more.
const DRAIN: Duration = Duration::from_secs(1);
/// Health checks over the capacity: about twenty a second of 1,450.
const CHECKS: f64 = 20.0 / 1450.0;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G16",
    about: "a server process at 10 C, critical 0.667 C, asked for /healthz twenty times a second; 4 C beside it, as one client core is the bottleneck at 10",
    cases,
    columns: &[
        "health_failures",
        "health_p99_ms",
        "goodput_over_c",
        "critical_success",
        "lag_p99_ms",
    ],
    relative: &[],
    goals: &[
        goal("health checks failed at 10 C", 10.0, "health_failures", Of::Worst, 0.0),
        goal("p99 of health checks at 10 C, ms", 10.0, "health_p99_ms", Of::Median, 20.0),
        goal("health checks failed at 4 C", 4.0, "health_failures", Of::Worst, 0.0),
        goal("p99 of health checks at 4 C, ms", 4.0, "health_p99_ms", Of::Median, 20.0),
    ],
    chart: Chart::Bars {
        figures: &["health_failures"],
        title: "Health checks not answered in time",
        unit: "of about 80",
        variant: "",
    },
};

const fn goal(about: &'static str, factor: f64, figure: &'static str, of: Of, most: f64) -> Goal {
    let bound = Bound::AtMost(most);
    Goal { about, number: "G16", variant: "", factor: Some(factor), figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(4.0, 3.0);
    let at = |load: f64| {
        scope.each(&[Shedder::Plimsoll, Shedder::None], move |shedder, seed| {
            let mut streams = two_levels_served(CRITICAL, load - CRITICAL, span);
            let checks = vec![Piece { from: -SERVED_WARM_UP, to: span, factor: CHECKS }];
            streams.push(Stream::new(Criticality::Feature, checks).by(2).to(HEALTH));
            let case = io_case(NAME, shedder, seed, load, span, streams);
            Case { place: Place::Sockets(Server::new(Kind::Io)), drain: DRAIN, extra, ..case }
        })
    };
    [10.0, 4.0].into_iter().flat_map(at).collect()
}

fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    let checks: Vec<&Record> = records.iter().filter(|it| it.asked.endpoint == HEALTH).collect();
    let failures = checks.iter().filter(|it| !it.in_time()).count();
    vec![("health_failures", failures as f64), ("health_p99_ms", p99(&checks))]
}
