//! Golem's shard manager: equal counts, to within a tenth.
//!
//! Unassigned shards go to empty pods first, in turn, until those have an even
//! share, then to all in turn. Then each pod below the lower threshold pulls the
//! first shard of the largest pod until it is not. A pod that is too full while
//! none is too empty keeps everything. No load is looked at.

use plimsoll_placement::view::View;

use crate::world::Step;

use super::tray::Tray;

/// The planner with its default threshold.
#[derive(Clone, Copy, Debug)]
pub struct Golem {
    /// How far a count may be from the even share, as a part of it.
    pub threshold: f64,
}

impl Default for Golem {
    fn default() -> Self {
        Self { threshold: 0.1 }
    }
}

impl Golem {
    /// What one pass would change.
    pub fn cycle(self, view: &View) -> Vec<Step> {
        let mut tray = Tray::new(view);
        if tray.hosts.is_empty() {
            return Vec::new();
        }
        let even = view.shards.len() / tray.hosts.len();
        deal(&mut tray, even);
        self.pull(&mut tray, even);
        tray.into_steps(view)
    }

    fn pull(self, tray: &mut Tray, even: usize) {
        let enough = (even as f64 * (1.0 - self.threshold)).floor() as usize;
        for target in 0..tray.hosts.len() {
            while tray.hosts[target].shards.len() < enough {
                let Some(source) = fullest_above(tray, enough, target) else { break };
                let Some(&first) = tray.hosts[source].shards.first() else { break };
                tray.carry(first, source, target);
            }
        }
    }
}

fn deal(tray: &mut Tray, even: usize) {
    let mut homeless = std::mem::take(&mut tray.homeless).into_iter();
    let count = |tray: &Tray, place: usize| tray.hosts[place].shards.len();
    let empty: Vec<usize> = (0..tray.hosts.len()).filter(|&it| count(tray, it) == 0).collect();
    let room = empty.len() * even;
    for (shard, turn) in homeless.by_ref().take(room).zip(0..) {
        let turn: usize = turn;
        tray.give(shard, empty[turn % empty.len()]);
    }
    let all = tray.hosts.len();
    for (shard, turn) in homeless.zip(0..) {
        let turn: usize = turn;
        tray.give(shard, turn % all);
    }
}

/// The last of the pods with the most shards, if it may give one.
fn fullest_above(tray: &Tray, enough: usize, except: usize) -> Option<usize> {
    let count = |&place: &usize| tray.hosts[place].shards.len();
    let may_give = |place: &usize| *place != except && count(place) > enough;
    (0..tray.hosts.len()).filter(may_give).max_by_key(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;
    use crate::world::{apply, drain, host_loads};
    use plimsoll_placement::time::Time;
    use plimsoll_placement::view::ExecutorIndex;

    fn counts(view: &View) -> Vec<f64> {
        host_loads(view, view.shards.iter().map(|_| 1.0))
    }

    fn after(mut view: View) -> Vec<f64> {
        let steps = Golem::default().cycle(&view);
        apply(&mut view, &steps, Time::ZERO);
        counts(&view)
    }

    #[test]
    fn even_counts_stay_however_uneven_the_load() {
        let steps = Golem::default().cycle(&view(&[&[100.0; 10], &[1.0; 10]]));
        assert_eq!(steps, []);
    }

    #[test]
    fn a_pod_that_is_too_empty_pulls_up_to_the_lower_threshold() {
        assert_eq!(after(view(&[&[1.0; 30], &[1.0; 20], &[1.0; 10]])), [22.0, 20.0, 18.0]);
    }

    #[test]
    fn a_pod_that_is_too_full_keeps_everything_if_none_is_too_empty() {
        let start = view(&[&[1.0; 26], &[1.0; 18], &[1.0; 18]]);
        assert_eq!(Golem::default().cycle(&start), []);
    }

    #[test]
    fn the_shards_of_a_dead_pod_are_dealt_in_turn() {
        let mut start = view(&[&[1.0; 10], &[1.0; 10], &[1.0; 10]]);
        drain(&mut start, ExecutorIndex(2));
        assert_eq!(after(start), [15.0, 15.0, 0.0]);
    }

    #[test]
    fn empty_pods_come_first() {
        let mut start = view(&[&[1.0; 4], &[1.0; 4], &[], &[]]);
        drain(&mut start, ExecutorIndex(1));
        assert_eq!(after(start), [4.0, 0.0, 2.0, 2.0]);
    }
}
