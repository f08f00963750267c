//! A few requests a second, some of them slow: nothing to be learnt, nothing to be
//! refused.

use std::time::Duration;

use plimsoll_shedding::Criticality;

use super::{Chart, Experiment, Scope, io_case};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::io::{Odd, ServicePlan};
use crate::load::{Piece, Stream};
use crate::record::Record;
use crate::shedders::Shedder;

const NAME: &str = "low-traffic";
/// Requests a second.
const RATES: [f64; 3] = [1.0, 3.0, 10.0];
const MEAN: Duration = Duration::from_millis(200);
/// One in ten takes ten times as long.
const ODD: Odd = Odd { every: 10, slower: 10.0 };

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G13",
    about: "1, 3 and 10 requests a second for 2 minutes a seed, 200 ms each, one in ten ten times as slow; a factor is requests a second over 80",
    cases,
    columns: &["refused", "shed_share", "p99_ms"],
    relative: &[],
    goals: &[Goal {
        about: "refused in all at 1 to 10 requests a second",
        number: "G13",
        variant: "",
        factor: None,
        figure: "refused",
        of: Of::Worst,
        bound: Bound::AtMost(0.0),
    }],
    chart: Chart::OverFactor {
        figure: "shed_share",
        title: "Part refused at hardly any traffic",
        unit: "%",
    },
};

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(120.0, 20.0);
    let plan = ServicePlan { mean: MEAN, odd: Some(ODD), ..ServicePlan::default() };
    let capacity = plan.places as f64 / MEAN.as_secs_f64();
    let at = |rate: f64| {
        let plan = plan.clone();
        scope.each(&Shedder::ALL, move |shedder, seed| {
            let factor = rate / capacity;
            let streams = levels(factor, span);
            let case = io_case(NAME, shedder, seed, factor, span, streams);
            Case { extra, place: Place::Io(plan.clone()), drain: Duration::from_secs(15), ..case }
        })
    };
    RATES.into_iter().flat_map(at).collect()
}

/// Half of level 2, a quarter each of 3 and 4.
fn levels(factor: f64, span: f64) -> Vec<Stream> {
    let all = |part: f64| vec![Piece { from: 0.0, to: span, factor: factor * part }];
    vec![
        Stream::new(Criticality::CoreFlow, all(0.5)),
        Stream::new(Criticality::Feature, all(0.25)).by(1),
        Stream::new(Criticality::Internal, all(0.25)).by(2),
    ]
}

fn extra(_: &Case, records: &[Record], _: f64) -> Vec<(&'static str, f64)> {
    vec![("refused", records.iter().filter(|it| it.turned_away()).count() as f64)]
}
