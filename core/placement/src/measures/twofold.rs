//! Numbers of some 32 digits, for a difference of two that are nearly equal.
//!
//! A number is kept as the sum of two, of which the second is what rounding took
//! from the first (T. J. Dekker, "A floating-point technique for extending the
//! available precision", Numerische Mathematik 18, 1971). Refuses to know
//! infinities: what is put in must leave room for its square.

use std::ops::{Add, Div, Mul, Sub};

/// A number in two parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Twofold {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

impl Twofold {
    /// The sum of two numbers, exactly.
    pub(crate) fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let of_b = high - a;
        Self { high, low: (a - (high - of_b)) + (b - of_b) }
    }

    /// The product of two numbers, exactly unless it is next to nothing.
    pub(crate) fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    pub(crate) fn value(self) -> f64 {
        self.high + self.low
    }
}

impl From<f64> for Twofold {
    fn from(number: f64) -> Self {
        Self { high: number, low: 0.0 }
    }
}

impl Add for Twofold {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = Self::sum(self.high, other.high);
        Self::sum(sum.high, sum.low + (self.low + other.low))
    }
}

impl Sub for Twofold {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self { high: -other.high, low: -other.low }
    }
}

impl Mul for Twofold {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        let across = self.high * other.low + self.low * other.high;
        Self::sum(product.high, product.low + across)
    }
}

impl Div for Twofold {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let about = self.high / other.high;
        let rest = self - other * Self::from(about);
        Self::sum(about, rest.value() / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twofold(number: f64) -> Twofold {
        Twofold::from(number)
    }

    #[test]
    fn what_rounding_takes_from_a_sum_is_kept() {
        let sum = twofold(1e16) + twofold(0.1);
        assert_eq!((sum - twofold(1e16)).value(), 0.1);
    }

    #[test]
    fn a_square_less_its_neighbours_product_is_exact() {
        // x² - (x - d)(x + d) is d², which plain numbers lose.
        let (x, d) = (1.0 / 3.0, 1e-12);
        let apart = (twofold(x) - twofold(d)) * (twofold(x) + twofold(d));
        let square = (twofold(x) * twofold(x) - apart).value();
        assert!((square - d * d).abs() < 1e-6 * d * d, "{square:e}");
    }

    #[test]
    fn what_was_divided_comes_back() {
        for (a, b) in [(1.0, 3.0), (1e100, 7.7), (0.1, 1e-3)] {
            let off = ((twofold(a) / twofold(b)) * twofold(b) - twofold(a)).value();
            assert!(off.abs() < 1e-30 * a, "{a} / {b}: {off:e}");
        }
    }
}
