//! Two hundred answers that stay open beside an overload of ordinary ones.

use plimsoll_shedding::Criticality;

use super::{Chart, Experiment, SHORT, Scope, WARM_UP, io_case, two_levels};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::load::{Piece, Stream};
use crate::record::Record;

const NAME: &str = "streams";
const LOAD: f64 = 1.25;
/// Streams a second of warm-up, over a capacity of about 1,450: two hundred in all.
const OPENING: f64 = 200.0 / WARM_UP / 1450.0;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G15",
    about: "about 200 streams opened before, then 1.25 C of ordinary requests, half critical, 20 s",
    cases,
    columns: &["goodput_over_c", "critical_success", "shed_share", "p99_ms", "streams_opened"],
    relative: &[],
    goals: &[
        goal(
            "goodput over C beside 200 streams",
            "goodput_over_c",
            Of::Median,
            Bound::AtLeast(0.98),
        ),
        goal("p99 of admitted beside 200 streams, ms", "p99_ms", Of::Median, Bound::AtMost(105.0)),
        goal(
            "critical success beside 200 streams",
            "critical_success",
            Of::Worst,
            Bound::AtLeast(1.0),
        ),
    ],
    chart: Chart::Bars {
        figures: &["goodput_over_c", "critical_success"],
        title: "Beside 200 open streams at 1.25 C",
        unit: "%",
        variant: "",
    },
};

const fn goal(about: &'static str, figure: &'static str, of: Of, bound: Bound) -> Goal {
    Goal { about, number: "G15", variant: "", factor: None, figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(20.0, 8.0);
    scope.each(&SHORT, |shedder, seed| {
        let mut streams = two_levels(LOAD / 2.0, LOAD / 2.0, span);
        let opening = Piece { from: -WARM_UP, to: 0.0, factor: OPENING };
        let open = Stream::new(Criticality::CoreFlow, vec![opening]).by(2);
        streams.push(Stream { stays_open: true, ..open });
        Case { extra, ..io_case(NAME, shedder, seed, LOAD, span, streams) }
    })
}

fn extra(case: &Case, _: &[Record], capacity: f64) -> Vec<(&'static str, f64)> {
    let opened = crate::load::arrivals(&case.streams, capacity, case.seed);
    vec![("streams_opened", opened.iter().filter(|it| it.stays_open).count() as f64)]
}
