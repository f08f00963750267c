//! A cluster under changing load: what its executors report goes through the
//! product's smoothing, what the planner then moves has moved at once.
//!
//! What is measured is the load that shards really carry, not what the planner
//! believes.

use plimsoll_placement::measures::{Balance, Bound};
use plimsoll_placement::plan::Scope;
use plimsoll_placement::policy::Mode as Ours;
use plimsoll_placement::smoothing::{Estimate, Smoothed};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Load, View};

use crate::mode::{Mode, Planner};
use crate::world::{Moved, apply, balance_with, bound_with};

/// A view that lives.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub view: View,
    pub planner: Planner,
    /// What every shard really carries now.
    pub truth: Vec<f64>,
    /// Everything that has moved so far, by the load that was believed.
    pub moved: Moved,
    meters: Vec<Meter>,
}

/// What is remembered of a shard's reports: as much as its mode uses.
#[derive(Clone, Copy, Debug)]
enum Meter {
    Smoothed(Option<Smoothed>),
    Estimate(Option<Estimate>),
}

impl Cluster {
    /// The cluster as a view shows it; nothing has been reported yet.
    pub fn new(view: View, planner: Planner) -> Self {
        let meter = match planner.mode {
            Mode::Ours(Ours::Adaptive) => Meter::Estimate(None),
            _ => Meter::Smoothed(None),
        };
        let meters = vec![meter; view.shards.len()];
        Self { truth: vec![0.0; meters.len()], meters, view, planner, moved: Moved::default() }
    }

    /// Executors report every shard at `now`; `report` turns what a shard really
    /// carries into what is said of it.
    pub fn report(&mut self, now: Time, mut report: impl FnMut(f64) -> f64) {
        let time_constant = self.planner.policy.load_smoothing_time_constant();
        let shards = self.view.shards.iter_mut().zip(&mut self.meters).zip(&self.truth);
        for ((shard, meter), &truth) in shards {
            let reported = report(truth).max(0.0);
            shard.load = Some(match meter {
                Meter::Smoothed(last) => {
                    let next = Smoothed::after(*last, now, reported, time_constant);
                    *last = Some(next);
                    Load { smoothed: next.value, reported, variance: 0.0 }
                }
                Meter::Estimate(last) => {
                    let next = Estimate::after(*last, now, reported, time_constant);
                    *last = Some(next);
                    next.load(reported)
                }
            });
        }
    }

    /// One cycle; how much it moved.
    pub fn cycle(&mut self, now: Time, scope: Scope) -> Moved {
        let steps = self.planner.scoped(now, &self.view, scope);
        let moved = apply(&mut self.view, &steps, now);
        self.moved = self.moved.and(moved);
        moved
    }

    /// How even open hosts are by what shards really carry.
    pub fn balance(&self) -> Balance {
        balance_with(&self.view, self.truth.iter().copied())
    }

    /// How even they could be at best.
    pub fn bound(&self) -> Bound {
        bound_with(&self.view, self.truth.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;

    #[test]
    fn reports_are_smoothed_and_truth_is_not() {
        for mode in [Mode::GREEDY, Mode::ADAPTIVE] {
            let mut cluster = Cluster::new(view(&[&[1.0], &[1.0]]), Planner::new(mode));
            cluster.truth = vec![10.0, 10.0];
            for second in 1..600 {
                cluster.report(Time::from_millis(second * 1000), |load| load);
            }
            cluster.truth[0] = 20.0;
            cluster.report(Time::from_millis(600_000), |load| load);
            let believed = cluster.view.shards[0].load.unwrap();
            assert!(
                believed.smoothed < 12.0 && believed.reported == 20.0,
                "{mode:?}: {believed:?}"
            );
            assert_eq!(cluster.balance().max, 20.0);
        }
    }

    #[test]
    fn what_moves_is_counted() {
        let mut cluster =
            Cluster::new(view(&[&[5.0, 5.0, 5.0, 5.0], &[]]), Planner::new(Mode::GREEDY));
        cluster.truth = vec![5.0; 4];
        cluster.report(Time::from_millis(1000), |load| load);
        let moved = cluster.cycle(Time::from_millis(1000), Scope::Full);
        assert!(moved.moves > 0);
        assert_eq!(cluster.moved, moved);
    }
}
