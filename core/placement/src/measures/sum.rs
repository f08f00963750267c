//! Sums that do not depend on the order of their parts.
//!
//! Two hosts with the same shards must weigh the same however the shards are
//! listed, or the listing would break ties. Plain floating-point addition does
//! not promise that. Neumaier's compensated sum carries the rounding errors
//! along and rounds once, at the end.

/// A running sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    high: f64,
    /// What rounding has taken from `high` so far.
    low: f64,
}

impl Sum {
    /// Adds one part.
    pub fn add(&mut self, part: f64) {
        let high = self.high + part;
        self.low += if self.high.abs() >= part.abs() {
            (self.high - high) + part
        } else {
            (part - high) + self.high
        };
        self.high = high;
    }

    /// The sum of all parts so far.
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(parts: I) -> Self {
        let mut sum = Self::default();
        parts.into_iter().for_each(|part| sum.add(part));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tenths_are_one() {
        assert_eq!(std::iter::repeat_n(0.1, 10).collect::<Sum>().value(), 1.0);
    }

    #[test]
    fn the_order_of_parts_does_not_matter() {
        let parts = [1e16, 0.1, 3.3, 1e-9, 7.7, 0.2];
        let there: Sum = parts.into_iter().collect();
        let back: Sum = parts.into_iter().rev().collect();
        assert_eq!(there.value(), back.value());
    }
}
