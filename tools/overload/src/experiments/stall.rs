//! The server process is stopped for a second, again and again (SIGSTOP): what it
//! finds on waking is no overload of its own.

use plimsoll_shedding::Criticality;

use super::{Chart, Course, Experiment, Scope, io_case, two_levels_served};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::record::Record;
use crate::shedders::Shedder;
use crate::sockets::{Kind, Server};

const NAME: &str = "stall";
const LOAD: f64 = 0.7;
/// Seconds from one stop to the next.
const EVERY: f64 = 4.0;
/// From the end of a stop until everything must be as before, in seconds: what
/// arrived meanwhile takes 0.7 / 0.3 seconds to be served beside the rest.
const CAUGHT_UP: f64 = 2.5;
const THESE: &[Shedder] = &[Shedder::Plimsoll, Shedder::None, Shedder::QalmDequeue, Shedder::Tower];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G14",
    about: "a server process at 0.7 C, half of it critical, is stopped (SIGSTOP) for a second every 4 seconds",
    cases,
    columns: &[
        "critical_refused",
        "other_refused_of_backlog",
        "refused_when_caught_up",
        "critical_p99_ms",
    ],
    relative: &[],
    goals: &[
        goal("critical shed or expired around stops", "critical_refused", Of::Worst, 0.0),
        goal(
            "level 4 shed over what arrived while stopped",
            "other_refused_of_backlog",
            Of::Worst,
            1.0,
        ),
        goal("refused from 2.5 s after a stop on", "refused_when_caught_up", Of::Worst, 0.0),
    ],
    chart: Chart::OverTime {
        course: Course::ShedShare,
        title: "Part refused while the process is stopped now and then",
        unit: "%",
    },
};

const fn goal(about: &'static str, figure: &'static str, of: Of, most: f64) -> Goal {
    let bound = Bound::AtMost(most);
    Goal { about, number: "G14", variant: "", factor: None, figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let stops: u32 = if scope.quick { 2 } else { 5 };
    let stops: Vec<f64> = (0..stops).map(|n| 1.0 + f64::from(n) * EVERY).collect();
    let span = 1.0 + stops.len() as f64 * EVERY;
    scope.each(THESE, |shedder, seed| {
        let server = Server { stops: stops.clone(), ..Server::new(Kind::Io) };
        let streams = two_levels_served(LOAD / 2.0, LOAD / 2.0, span);
        let case = io_case(NAME, shedder, seed, LOAD, span, streams);
        Case { place: Place::Sockets(server), extra, ..case }
    })
}

fn extra(case: &Case, records: &[Record], capacity: f64) -> Vec<(&'static str, f64)> {
    let count = |which: &dyn Fn(&&Record) -> bool| {
        records.iter().filter(|it| it.turned_away()).filter(which).count() as f64
    };
    let since_stop = |it: &Record| (it.at - 1.0).rem_euclid(EVERY);
    // What is sent just before the next stop arrives after it.
    let caught_up = |it: &&Record| (1.0 + CAUGHT_UP..EVERY - 0.05).contains(&since_stop(it));
    let others = count(&|it| it.asked.level == Criticality::Internal);
    let backlog = LOAD * capacity * (case.span / EVERY).floor();
    vec![
        ("critical_refused", count(&|it| it.asked.level.is_critical())),
        ("other_refused_of_backlog", others / backlog),
        ("refused_when_caught_up", count(&caught_up)),
    ]
}
