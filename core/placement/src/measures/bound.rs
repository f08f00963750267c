//! What no placement of given shards on given hosts can go below.
//!
//! Water-filling: a shard larger than the fair share of what is left pins a
//! host by itself, again and again; the rest is taken as spread perfectly. A
//! bound and no promise: whether the rest can be packed that evenly is a harder
//! question, which this does not ask.

use super::{Balance, Sum};

/// The least that is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Largest host load over the mean; 1 if there is no load.
    pub max_over_mean: f64,
    /// Population standard deviation of host load over its mean.
    pub spread: f64,
}

/// The bound for shards with these loads on that many hosts.
pub fn lower_bound(loads: impl IntoIterator<Item = f64>, hosts: usize) -> Bound {
    let mut loads: Vec<f64> = loads.into_iter().collect();
    loads.sort_unstable_by(|a, b| b.total_cmp(a));
    let balance = Balance::of(&fill(&loads, hosts), 1.0);
    Bound { max_over_mean: balance.max_over_mean(), spread: balance.spread }
}

/// Host loads that bound any placement; `loads` come largest first.
fn fill(loads: &[f64], hosts: usize) -> Vec<f64> {
    let mut filled = Vec::with_capacity(hosts);
    let mut rest = loads.iter().copied().collect::<Sum>().value();
    for &load in loads {
        let fair_share = rest / (hosts - filled.len()) as f64;
        if filled.len() + 1 >= hosts || load <= fair_share {
            break;
        }
        filled.push(load);
        rest -= load;
    }
    let free = hosts - filled.len();
    filled.extend(std::iter::repeat_n(rest / free as f64, free));
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shards_can_be_spread_perfectly() {
        let bound = lower_bound([1.0; 12], 4);
        assert_eq!(bound, Bound { max_over_mean: 1.0, spread: 0.0 });
    }

    #[test]
    fn a_shard_above_the_fair_share_pins_a_host() {
        let bound = lower_bound([10.0, 1.0, 1.0], 3);
        assert_eq!(bound.max_over_mean, 2.5);
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
        assert_eq!(lower_bound([], 0), Bound { max_over_mean: 1.0, spread: 0.0 });
        assert_eq!(lower_bound([1.0], 0), Bound { max_over_mean: 1.0, spread: 0.0 });
        assert_eq!(lower_bound([], 3), Bound { max_over_mean: 1.0, spread: 0.0 });
    }
}
