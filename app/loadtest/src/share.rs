//! Picks one of several by its share. Pure: the random number is an argument.

/// Relative weights, prepared for picking.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Running sums of the weights over their total; the last is 1.
    edges: Vec<f64>,
}

impl Shares {
    /// Weights in any unit, each finite and above zero. No weights pick 0 always.
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut reached = 0.0;
        let edges = weights.iter().map(|weight| {
            reached += weight;
            reached / total
        });
        Self { edges: edges.collect() }
    }

    /// The index that `point`, a number in [0, 1), falls on.
    pub fn pick(&self, point: f64) -> usize {
        let index = self.edges.partition_point(|edge| *edge <= point);
        index.min(self.edges.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edges_belong_to_the_next() {
        let shares = Shares::new(&[1.0, 2.0, 1.0]);
        let picked = [0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999].map(|point| shares.pick(point));
        assert_eq!(picked, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn nothing_to_pick_from_is_the_first() {
        assert_eq!(Shares::new(&[]).pick(0.7), 0);
    }

    proptest! {
        #[test]
        fn even_points_meet_the_shares(weights in prop::collection::vec(0.01..100.0_f64, 1..8)) {
            let shares = Shares::new(&weights);
            let mut counts = vec![0.0; weights.len()];
            for n in 0..10_000 {
                counts[shares.pick(f64::from(n) / 10_000.0)] += 1.0;
            }
            let total: f64 = weights.iter().sum();
            for (count, weight) in counts.iter().zip(&weights) {
                prop_assert!((count / 10_000.0 - weight / total).abs() < 2e-4);
            }
        }
    }
}
