//! Two callers of one level, one of which asks ten times as much.

use plimsoll_shedding::Criticality;

use super::{Chart, Experiment, SHORT, Scope, constant, io_case};
use crate::case::Case;
use crate::goal::{Bound, Goal, Of};
use crate::load::Stream;
use crate::record::Record;
use crate::stats::jain;

const NAME: &str = "fairness";
/// In all, over the capacity; each is also what the greater one asks, and a tenth
/// of it the smaller one.
const LOADS: [f64; 2] = [2.0, 4.0];
const RATIO: f64 = 10.0;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    number: "G17",
    about: "two callers of level 3, demand ten to one, 2 C and 4 C in all: what each got over its max-min share",
    cases,
    columns: &["jain", "small_got_of_share", "large_got_of_share", "goodput_over_c"],
    relative: &[],
    goals: &[goal("Jain index at 2 C", 2.0), goal("Jain index at 4 C", 4.0)],
    chart: Chart::Bars {
        figures: &["small_got_of_share", "large_got_of_share"],
        title: "Part of its fair share that a caller got at 2 C, demand 1 to 10",
        unit: "%",
        variant: "",
    },
};

const fn goal(about: &'static str, factor: f64) -> Goal {
    let (figure, bound) = ("jain", Bound::AtLeast(0.95));
    Goal { about, number: "G17", variant: "", factor: Some(factor), figure, of: Of::Median, bound }
}

fn cases(scope: &Scope) -> Vec<Case> {
    let span = scope.span(8.0, 6.0);
    let at = |load: f64| {
        scope.each(&SHORT, move |shedder, seed| {
            let demands = demands(load);
            let stream = |caller: usize| {
                Stream::new(Criticality::Feature, constant(demands[caller], load, span))
                    .by(caller as u32)
            };
            let streams = vec![stream(0), stream(1)];
            Case { extra, ..io_case(NAME, shedder, seed, load, span, streams) }
        })
    };
    LOADS.into_iter().flat_map(at).collect()
}

/// The smaller and the greater demand.
fn demands(load: f64) -> [f64; 2] {
    let small = load / (1.0 + RATIO);
    [small, load - small]
}

/// What each of the two may have of a capacity of 1.
fn max_min(demands: [f64; 2]) -> [f64; 2] {
    let small = demands[0].min(0.5);
    [small, demands[1].min(1.0 - small)]
}

fn extra(case: &Case, records: &[Record], capacity: f64) -> Vec<(&'static str, f64)> {
    let shares = max_min(demands(case.factor));
    let got = [0_u32, 1].map(|caller| {
        let of = |it: &&Record| it.asked.caller == caller && it.in_time();
        records.iter().filter(of).count() as f64 / case.span / capacity
    });
    let parts = [got[0] / shares[0], got[1] / shares[1]];
    vec![("jain", jain(&parts)), ("small_got_of_share", parts[0]), ("large_got_of_share", parts[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_demand_is_met_and_the_rest_is_the_others() {
        let [small, large] = max_min(demands(2.0));
        assert!((small - 2.0 / 11.0).abs() < 1e-9 && (large - 9.0 / 11.0).abs() < 1e-9);
        assert_eq!(max_min(demands(22.0)), [0.5, 0.5]);
    }
}
