//! Pekko's (and Akka's) least-shard strategy: equal counts, in rounds.
//!
//! A region above the even share, rounded up, gives its excess away; once none
//! is, regions that have the full share give one each for regions that are two
//! or more below it. A tenth of all shards a round at most. Each goes to the
//! region with the fewest. No load is looked at.

use plimsoll_placement::view::{ShardIndex, View};

use crate::world::Step;

use super::tray::Tray;

/// The strategy with its usual limit.
#[derive(Clone, Copy, Debug)]
pub struct Pekko {
    /// The part of all shards that one round may move.
    pub relative_limit: f64,
}

impl Default for Pekko {
    fn default() -> Self {
        Self { relative_limit: 0.1 }
    }
}

impl Pekko {
    /// What one round would change. The round that places what has no owner
    /// moves nothing else.
    pub fn cycle(self, view: &View) -> Vec<Step> {
        let mut tray = Tray::new(view);
        if tray.hosts.is_empty() {
            return Vec::new();
        }
        let homeless = std::mem::take(&mut tray.homeless);
        if homeless.is_empty() {
            for (shard, from) in self.chosen(&tray, view.shards.len()) {
                let to = emptiest(&tray);
                tray.carry(shard, from, to);
            }
        }
        for shard in homeless {
            let to = emptiest(&tray);
            tray.give(shard, to);
        }
        tray.into_steps(view)
    }

    fn chosen(self, tray: &Tray, shards: usize) -> Vec<(ShardIndex, usize)> {
        let full = shards.div_ceil(tray.hosts.len());
        let limit = ((self.relative_limit * shards as f64) as usize).max(1);
        let mut chosen = excess(tray, full);
        if chosen.is_empty() {
            chosen = one_of_each_full(tray, full);
            chosen.truncate(missing(tray, full));
        }
        chosen.truncate(limit);
        chosen
    }
}

fn excess(tray: &Tray, full: usize) -> Vec<(ShardIndex, usize)> {
    let mut chosen = Vec::new();
    for place in by_count(tray) {
        let shards = &tray.hosts[place].shards;
        let over = shards.len().saturating_sub(full);
        chosen.extend(shards.iter().take(over).map(|&shard| (shard, place)));
    }
    chosen
}

/// By how many shards regions are two or more below the full share.
fn missing(tray: &Tray, full: usize) -> usize {
    tray.hosts.iter().map(|host| (full - 1).saturating_sub(host.shards.len())).sum()
}

fn one_of_each_full(tray: &Tray, full: usize) -> Vec<(ShardIndex, usize)> {
    let is_full = |place: &usize| tray.hosts[*place].shards.len() >= full;
    let first = |place: usize| Some((*tray.hosts[place].shards.first()?, place));
    by_count(tray).into_iter().filter(is_full).filter_map(first).collect()
}

fn by_count(tray: &Tray) -> Vec<usize> {
    let mut places: Vec<usize> = (0..tray.hosts.len()).collect();
    places.sort_by_key(|&place| tray.hosts[place].shards.len());
    places
}

/// The first of the regions with the fewest shards; there is one.
fn emptiest(tray: &Tray) -> usize {
    by_count(tray).first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;
    use crate::world::{apply, host_loads};
    use plimsoll_placement::time::Time;

    fn counts(view: &View) -> Vec<f64> {
        host_loads(view, view.shards.iter().map(|_| 1.0))
    }

    #[test]
    fn even_counts_stay_however_uneven_the_load() {
        assert_eq!(Pekko::default().cycle(&view(&[&[100.0; 10], &[1.0; 10]])), []);
    }

    #[test]
    fn one_round_moves_a_tenth_at_most() {
        let start = view(&[&[1.0; 80], &[1.0; 10], &[1.0; 10]]);
        assert_eq!(Pekko::default().cycle(&start).len(), 10);
    }

    #[test]
    fn rounds_end_with_counts_that_differ_by_one() {
        let mut view = view(&[&[1.0; 61], &[], &[1.0; 20], &[1.0; 21]]);
        let rounds = (0..100).take_while(|_| {
            let steps = Pekko::default().cycle(&view);
            apply(&mut view, &steps, Time::ZERO);
            !steps.is_empty()
        });
        assert!(rounds.count() < 100);
        let counts = counts(&view);
        assert!(counts.iter().all(|&count| (25.0..=26.0).contains(&count)), "{counts:?}");
    }

    #[test]
    fn a_region_one_below_the_full_share_is_left_alone() {
        assert_eq!(Pekko::default().cycle(&view(&[&[1.0; 3], &[1.0; 3], &[1.0; 2]])), []);
        let two_below = view(&[&[1.0; 3], &[1.0; 3], &[1.0; 1]]);
        assert_eq!(Pekko::default().cycle(&two_below).len(), 1);
    }
}
