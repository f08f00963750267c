//! Whole cases in this process, short.

use std::time::Duration;

use plimsoll_overload::capacity::Capacities;
use plimsoll_overload::case::{Case, Place};
use plimsoll_overload::io::ServicePlan;
use plimsoll_overload::load::{Piece, Stream};
use plimsoll_overload::outcome::Outcome;
use plimsoll_overload::schedule;
use plimsoll_overload::shedders::Shedder;
use plimsoll_shedding::Criticality;

const SPAN: f64 = 0.5;

/// Half critical, half not, at `factor` of 200 requests a second.
fn case(shedder: Shedder, factor: f64) -> Case {
    let plan = ServicePlan { places: 2, mean: Duration::from_millis(10), ..ServicePlan::default() };
    let pieces = vec![Piece { from: -0.1, to: SPAN, factor: factor / 2.0 }];
    Case {
        experiment: "trial",
        variant: "",
        shedder,
        factor,
        seed: 1,
        streams: vec![
            Stream::new(Criticality::CoreFlow, pieces.clone()),
            Stream::new(Criticality::Internal, pieces).by(1),
        ],
        place: Place::Io(plan),
        per_second: false,
        span: SPAN,
        drain: Duration::from_secs(20),
        extra: |_, _, _| Vec::new(),
    }
}

fn run(cases: Vec<Case>) -> Vec<Outcome> {
    let capacities = Capacities::known(200.0);
    let outcomes = schedule::run(cases, &capacities);
    outcomes.unwrap_or_else(|error| panic!("{error:#}")).into_iter().flatten().collect()
}

#[test]
fn every_shedder_gives_every_request_a_fate_at_five_times_the_capacity() {
    let outcomes = run(Shedder::ALL.map(|shedder| case(shedder, 5.0)).to_vec());
    for (outcome, shedder) in outcomes.iter().zip(Shedder::ALL) {
        let counts = outcome.counts;
        assert_eq!(outcome.row.shedder, shedder.name(), "in the order of the cases");
        assert!(counts.add_up() && counts.unfinished == 0, "{shedder}: {counts:?}");
        assert!(counts.answered > 0, "{shedder}: {counts:?}");
    }
    let offered: Vec<_> = outcomes.iter().map(|it| it.counts.offered).collect();
    assert!(offered.iter().all(|it| *it == offered[0]), "the same arrivals for all: {offered:?}");
}

#[test]
fn what_cannot_end_in_time_is_unfinished() {
    let case = Case { drain: Duration::ZERO, ..case(Shedder::None, 20.0) };
    let counts = run(vec![case])[0].counts;
    assert!(counts.add_up() && counts.unfinished > 0, "{counts:?}");
}

#[test]
fn without_protection_nothing_is_refused() {
    let counts = run(vec![case(Shedder::None, 3.0)])[0].counts;
    assert_eq!((counts.shed, counts.expired, counts.failed), (0, 0, 0));
}
