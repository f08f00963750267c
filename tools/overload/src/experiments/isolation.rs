//! The seed's fourth: an endpoint with little traffic beside one that is flooded,
//! on the same pool of places.
//!
//! Both ask at the same level: it is the isolation that must help, not the
//! criticality.

use plimsoll_shedding::Criticality;

use super::served::two_endpoints;
use super::{Chart, Experiment, Relative, Scope, To, WARM_UP, io_case};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::load::{Piece, Stream};
use crate::outcome::p99;
use crate::record::{Fate, Record};
use crate::shedders::Shedder;

const NAME: &str = "isolation";
/// The victim's load over the capacity: about ten a second of 1,450.
const VICTIM: f64 = 10.0 / 1450.0;
/// The aggressor's; 0 is the victim alone.
const AGGRESSOR: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 3.0];

const THESE: &[Shedder] = &[
    Shedder::Plimsoll,
    Shedder::PlimsollFixed,
    Shedder::None,
    Shedder::QalmDequeue,
    Shedder::NetflixGradient2,
    Shedder::Tower,
];
/// The aggressor's load in the runs over sockets; alone, only ours is run.
const SERVED: [f64; 2] = [0.0, 3.0];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G6",
    about: "an endpoint at 10 a second beside one at 0 to 3 C (the factor), same level, same 16 places, 20 s",
    cases,
    columns: &[
        "victim_success",
        "victim_not_in_time",
        "victim_p50_ms",
        "victim_p99_ms",
        "victim_p99_over_alone",
        "goodput_over_c",
    ],
    relative: &[Relative {
        name: "victim_p99_over_alone",
        figure: "victim_p99_ms",
        to: To::Factor(0.0),
    }],
    goals: &[
        goal("victim not answered in time at 1.5 C", 1.5, "victim_not_in_time", Of::Worst, 0.0),
        goal("victim not answered in time at 3 C", 3.0, "victim_not_in_time", Of::Worst, 0.0),
        goal(
            "victim's p99 over its p99 alone, at 3 C",
            3.0,
            "victim_p99_over_alone",
            Of::Median,
            1.5,
        ),
        Goal {
            variant: "cpu",
            ..goal(
                "victim not answered in time at 3 C, handlers that compute",
                3.0,
                "victim_not_in_time",
                Of::Worst,
                0.0,
            )
        },
    ],
    chart: Chart::OverFactor {
        figure: "victim_success",
        title: "Victim's requests answered in time, over the aggressor's load",
        unit: "%",
    },
};

const fn goal(about: &'static str, factor: f64, figure: &'static str, of: Of, most: f64) -> Goal {
    let bound = Bound::AtMost(most);
    Goal { about, number: "G6", variant: "", factor: Some(factor), figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(20.0, 12.0);
    let at = |load: f64| {
        scope.each(THESE, move |shedder, seed| {
            let stream = |factor: f64| {
                let pieces = vec![Piece { from: -WARM_UP, to: span, factor }];
                Stream::new(Criticality::Feature, pieces)
            };
            let streams = vec![stream(VICTIM), stream(load).by(1).to(1)];
            Case { extra, ..io_case(NAME, shedder, seed, load, span, streams) }
        })
    };
    let mut cases: Vec<_> = AGGRESSOR.into_iter().flat_map(at).collect();
    cases.extend(two_endpoints(scope, NAME, VICTIM, &SERVED, extra));
    cases
}

fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    let victim: Vec<&Record> = records.iter().filter(|it| it.asked.endpoint == 0).collect();
    let in_time = victim.iter().filter(|it| it.in_time()).count();
    let mut latencies: Vec<f64> =
        victim.iter().filter(|it| it.fate == Fate::Answered).map(|it| it.latency_ms).collect();
    vec![
        ("victim_success", in_time as f64 / victim.len().max(1) as f64),
        ("victim_not_in_time", (victim.len() - in_time) as f64),
        ("victim_p50_ms", crate::stats::quantile(&mut latencies, 0.5).unwrap_or(0.0)),
        ("victim_p99_ms", p99(&victim)),
    ]
}
