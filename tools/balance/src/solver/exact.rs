//! Branch and bound over all placements, largest shards first.
//!
//! The sum of squared host loads is what the spread grows with. A branch is left
//! when even pouring the rest like water over the lowest hosts would end above
//! the best so far. Hosts with the same load are the same: only the first of
//! them is tried.

/// By shard: its host in a placement with the least spread there is.
pub(super) fn solve(loads: &[f64], hosts: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by(|&a, &b| loads[b].total_cmp(&loads[a]));
    let sorted: Vec<f64> = order.iter().map(|&shard| loads[shard]).collect();
    let mut search = Search::new(&sorted, hosts);
    search.descend(0, sorted.iter().sum());
    let mut owners = vec![0; loads.len()];
    for (&shard, &owner) in order.iter().zip(&search.best) {
        owners[shard] = owner;
    }
    owners
}

struct Search<'a> {
    /// Largest first.
    loads: &'a [f64],
    sums: Vec<f64>,
    owners: Vec<u32>,
    best: Vec<u32>,
    best_squares: f64,
}

impl<'a> Search<'a> {
    fn new(loads: &'a [f64], hosts: usize) -> Self {
        let owners = vec![0; loads.len()];
        let best = owners.clone();
        Self { loads, sums: vec![0.0; hosts], owners, best, best_squares: f64::INFINITY }
    }

    fn descend(&mut self, depth: usize, rest: f64) {
        if poured(&self.sums, rest) >= self.best_squares * (1.0 - 1e-12) {
            return;
        }
        let Some(&load) = self.loads.get(depth) else {
            self.best_squares = self.sums.iter().map(|sum| sum * sum).sum();
            self.best.clone_from(&self.owners);
            return;
        };
        for host in self.distinct_hosts() {
            let before = self.sums[host];
            self.sums[host] += load;
            self.owners[depth] = host as u32;
            self.descend(depth + 1, rest - load);
            self.sums[host] = before;
        }
    }

    /// The first of each load, lightest first: good answers come early.
    fn distinct_hosts(&self) -> Vec<usize> {
        let mut hosts: Vec<usize> = (0..self.sums.len()).collect();
        hosts.sort_by(|&a, &b| self.sums[a].total_cmp(&self.sums[b]));
        hosts.dedup_by(|&mut a, &mut b| self.sums[a] == self.sums[b]);
        hosts
    }
}

/// The sum of squares once `rest` has been poured over the lowest hosts.
fn poured(sums: &[f64], mut rest: f64) -> f64 {
    let mut sums = sums.to_vec();
    sums.sort_unstable_by(f64::total_cmp);
    let mut lowest = 1;
    while lowest < sums.len() {
        let step = (sums[lowest] - sums[lowest - 1]) * lowest as f64;
        if step >= rest {
            break;
        }
        rest -= step;
        lowest += 1;
    }
    let level = sums[lowest - 1] + rest / lowest as f64;
    lowest as f64 * level * level + sums[lowest..].iter().map(|sum| sum * sum).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(loads: &[f64], hosts: usize, owners: &[u32]) -> f64 {
        super::super::sums(loads, hosts, owners).iter().map(|sum| sum * sum).sum()
    }

    /// Every placement there is.
    fn least_of_all(loads: &[f64], hosts: u32) -> f64 {
        let all = hosts.pow(loads.len() as u32);
        let owners = |mut number: u32| -> Vec<u32> {
            (0..loads.len())
                .map(|_| {
                    let owner = number % hosts;
                    number /= hosts;
                    owner
                })
                .collect()
        };
        let each = (0..all).map(|number| squares(loads, hosts as usize, &owners(number)));
        each.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn nothing_is_better_than_the_answer() {
        for salt in 0..20u32 {
            let loads: Vec<f64> =
                (1..=7u32).map(|n| f64::from((n * 31 + salt * n * n * 17) % 53 + 1)).collect();
            let answer = squares(&loads, 3, &solve(&loads, 3));
            assert!((answer - least_of_all(&loads, 3)).abs() < 1e-9, "{loads:?}");
        }
    }

    #[test]
    fn water_is_poured_over_the_lowest() {
        assert_eq!(poured(&[1.0, 3.0, 9.0], 4.0), 16.0 + 16.0 + 81.0);
        assert_eq!(poured(&[2.0], 3.0), 25.0);
    }
}
