//! The wall clock jumps by an hour, forth and back, under a server process.
//!
//! libfaketime moves the wall clock alone. Without it the experiment has no cases,
//! and its goals are not measured.

use super::{CRITICAL, Chart, Course, Experiment, Scope, io_case, two_levels_served};
use crate::case::{Case, Place};
use crate::goal::{Bound, Goal, Of};
use crate::shedders::Shedder;
use crate::sockets::{Kind, Server, can_fake_clock};

const NAME: &str = "clock";
const LOAD: f64 = 1.33;
const JUMPS: [f64; 4] = [2.0, 4.0, 6.0, 8.0];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G23",
    about: "a server process at 1.33 C, critical 0.667 C, whose wall clock (by libfaketime) jumps an hour forth and back every 2 seconds",
    cases,
    columns: &[
        "goodput_over_c",
        "critical_success",
        "other_success",
        "p99_ms",
        "shed_deviation_points",
    ],
    relative: &[],
    goals: &[
        goal("critical success while the clock jumps", "critical_success", Of::Worst, 1.0),
        goal("goodput over C while the clock jumps", "goodput_over_c", Of::Median, 0.97),
        goal("non-critical success while the clock jumps", "other_success", Of::Median, 0.47),
    ],
    chart: Chart::OverTime {
        course: Course::ShedShare,
        title: "Part refused while the wall clock jumps",
        unit: "%",
    },
};

const fn goal(about: &'static str, figure: &'static str, of: Of, least: f64) -> Goal {
    let bound = Bound::AtLeast(least);
    Goal { about, number: "G23", variant: "", factor: None, figure, of, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    if !can_fake_clock() {
        eprintln!("clock: libfaketime is not installed (apt-get install libfaketime): left out");
        return Vec::new();
    }
    let span = 10.0;
    scope.each(&[Shedder::Plimsoll], |shedder, seed| {
        let server = Server { jumps: JUMPS.to_vec(), ..Server::new(Kind::Io) };
        let streams = two_levels_served(CRITICAL, LOAD - CRITICAL, span);
        let case = io_case(NAME, shedder, seed, LOAD, span, streams);
        Case { place: Place::Sockets(server), ..case }
    })
}
