//! What no placement of given shards on given hosts can go below.
//!
//! Water-filling: a shard larger than the fair share of what is left pins a
//! host by itself, again and again; the rest is taken as spread perfectly. Where
//! hosts differ, the largest shards are taken to be on the largest hosts, each
//! of which they leave at least as full, per unit of capacity, as the next.
//! A bound and no promise: whether the rest can be packed that evenly is a harder
//! question, which this does not ask.

use super::Sum;

/// The least that is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Largest host load over the mean, per unit of capacity; 1 if there is no
    /// load.
    pub max_over_mean: f64,
    /// Population standard deviation of host load over its mean, per unit of
    /// capacity.
    pub spread: f64,
    /// What hosts that no single shard pins carry at best, per unit of capacity:
    /// the level that can be attained, in the unit of the loads.
    pub level: f64,
}

impl Default for Bound {
    fn default() -> Self {
        Self { max_over_mean: 1.0, spread: 0.0, level: 0.0 }
    }
}

/// The bound for shards with these loads on that many hosts of equal capacity.
pub fn lower_bound(loads: impl IntoIterator<Item = f64>, hosts: usize) -> Bound {
    lower_bound_over(loads, &vec![1.0; hosts])
}

/// The bound for shards with these loads on hosts with these capacities.
pub fn lower_bound_over(loads: impl IntoIterator<Item = f64>, capacities: &[f64]) -> Bound {
    let mut capacities = capacities.to_vec();
    capacities.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut loads: Vec<f64> = loads.into_iter().collect();
    let total = loads.iter().copied().collect::<Sum>().value();
    let largest = largest_first(&mut loads, capacities.len());
    let room = capacities.iter().copied().collect::<Sum>().value();
    lower_bound_from(largest.iter().copied(), total, capacities.iter().copied(), room)
}

/// The bound where the largest loads, largest first, are part of so much, and
/// the capacities, largest first, are `room` together. No more of either are asked
/// for than pin a host.
pub(crate) fn lower_bound_from(
    largest: impl IntoIterator<Item = f64>,
    total: f64,
    capacities: impl ExactSizeIterator<Item = f64>,
    room: f64,
) -> Bound {
    if capacities.len() == 0 || total <= 0.0 {
        return Bound::default();
    }
    Filled::new(largest, total, capacities, room).bound(total, room)
}

/// The `count` largest, in order: more can pin no host. Looks at the others once.
fn largest_first(loads: &mut [f64], count: usize) -> &[f64] {
    let count = count.min(loads.len());
    if count < loads.len() {
        loads.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
    }
    let largest = &mut loads[..count];
    largest.sort_unstable_by(|a, b| b.total_cmp(a));
    largest
}

/// Host loads that bound any placement.
struct Filled {
    /// Load and capacity of hosts that one shard pins, the fullest first.
    pinned: Vec<(f64, f64)>,
    /// What is left for the others.
    rest: f64,
    /// Their capacity.
    room: f64,
}

impl Filled {
    fn new(
        largest: impl IntoIterator<Item = f64>,
        total: f64,
        capacities: impl ExactSizeIterator<Item = f64>,
        room: f64,
    ) -> Self {
        // The last host is never pinned: it takes what is left.
        let but_one = capacities.len() - 1;
        let mut filled = Self { pinned: Vec::new(), rest: total, room };
        let mut above = f64::INFINITY;
        let mut largest = largest.into_iter();
        for capacity in capacities.take(but_one) {
            let Some(load) = largest.next() else { break };
            let fullness = load / capacity;
            if fullness <= filled.level() || fullness > above {
                break;
            }
            filled.pin(load, capacity);
            above = fullness;
        }
        filled
    }

    fn pin(&mut self, load: f64, capacity: f64) {
        self.pinned.push((load, capacity));
        self.rest = (self.rest - load).max(0.0);
        self.room -= capacity;
    }

    fn level(&self) -> f64 {
        self.rest / self.room
    }

    fn bound(&self, total: f64, capacity: f64) -> Bound {
        let mean = total / capacity;
        let square = |load: f64, capacity: f64| capacity * (load / capacity / mean - 1.0).powi(2);
        let pinned: Sum = self.pinned.iter().map(|&(load, room)| square(load, room)).collect();
        let free = square(self.rest, self.room);
        let fullest = self.pinned.first().map_or(0.0, |(load, capacity)| load / capacity);
        Bound {
            max_over_mean: fullest.max(self.level()) / mean,
            spread: ((pinned.value() + free) / capacity).sqrt(),
            level: self.level(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Balance;
    use super::*;

    #[test]
    fn small_shards_can_be_spread_perfectly() {
        let bound = lower_bound([1.0; 12], 4);
        assert_eq!(bound, Bound { max_over_mean: 1.0, spread: 0.0, level: 3.0 });
    }

    #[test]
    fn a_shard_above_the_fair_share_pins_a_host() {
        let bound = lower_bound([10.0, 1.0, 1.0], 3);
        assert_eq!((bound.max_over_mean, bound.level), (2.5, 1.0));
    }

    #[test]
    fn a_pinned_host_lowers_the_share_of_the_rest() {
        // 10 is above 20/4; then 6 is above 10/3; the other 4 spread over two.
        let bound = lower_bound([10.0, 6.0, 1.0, 1.0, 1.0, 1.0], 4);
        assert_eq!(bound, lower_bound([10.0, 6.0, 2.0, 2.0], 4));
        assert_eq!(bound.max_over_mean, 2.0);
    }

    #[test]
    fn nothing_to_place_is_even() {
        assert_eq!(lower_bound([], 0), Bound::default());
        assert_eq!(lower_bound([1.0], 0), Bound::default());
        assert_eq!(lower_bound([], 3), Bound::default());
    }

    #[test]
    fn twice_the_capacity_takes_twice_the_load() {
        let bound = lower_bound_over([1.0; 12], &[1.0, 2.0, 1.0]);
        assert_eq!((bound.max_over_mean, bound.spread, bound.level), (1.0, 0.0, 3.0));
    }

    #[test]
    fn a_large_shard_is_taken_to_be_on_a_large_host() {
        // 8 on the host of 2 makes 4 a unit; the others spread 2 over 2.
        let bound = lower_bound_over([8.0, 1.0, 1.0], &[1.0, 1.0, 2.0]);
        assert_eq!((bound.max_over_mean, bound.level), (1.6, 1.0));
    }

    #[test]
    fn no_placement_on_unequal_hosts_is_below_the_bound() {
        // The second shard is better beside the first than alone on a tiny host.
        let (loads, capacities) = ([10.0, 1.0], [5.0, 0.1, 0.1, 0.1]);
        let bound = lower_bound_over(loads, &capacities);
        let together = [(11.0, 5.0), (0.0, 0.1), (0.0, 0.1), (0.0, 0.1)];
        assert!(bound.spread <= Balance::per_capacity(&together, 1.0).spread, "{bound:?}");
    }
}
