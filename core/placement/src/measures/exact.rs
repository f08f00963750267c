//! Sums that forget nothing, so that a part can be taken out again.
//!
//! What hosts carry is kept between cycles while loads come and go. With
//! floating-point sums that would drift, and a plan would depend on what the
//! loads once were. Here parts are added as whole numbers: a sum depends on its
//! parts alone, not on their order and not on what has been in it before.

use std::ops::Add;

use super::{Sum, Twofold};

/// Powers of two that one bin is wide.
const WIDTH: u64 = 32;

/// An exact sum of finite numbers. Has room for 2^43 of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ExactSum {
    /// The largest first: by [`WIDTH`] of exponents, in units of the least of
    /// these.
    bins: Vec<(u8, i128)>,
}

impl ExactSum {
    pub(crate) fn add(&mut self, part: f64) {
        self.change(part, 1);
    }

    /// Takes out what was once added.
    pub(crate) fn take(&mut self, part: f64) {
        self.change(part, -1);
    }

    fn change(&mut self, part: f64, sign: i128) {
        if part == 0.0 {
            return;
        }
        let (bin, units) = split(part);
        let sign = if part < 0.0 { -sign } else { sign };
        match self.bins.iter().position(|(other, _)| *other <= bin) {
            Some(place) if self.bins[place].0 == bin => {
                self.bins[place].1 += sign * units;
                if self.bins[place].1 == 0 {
                    self.bins.remove(place);
                }
            }
            place => self.bins.insert(place.unwrap_or(self.bins.len()), (bin, sign * units)),
        }
    }

    /// Rounded once for each bin and once for all: that depends on the parts
    /// alone.
    pub(crate) fn value(&self) -> f64 {
        let bins = self.bins.iter();
        bins.map(|&(bin, units)| units as f64 * unit(bin)).collect::<Sum>().value()
    }
}

impl ExactSum {
    /// To twice as many digits.
    pub(crate) fn twofold(&self) -> Twofold {
        let parts = self.bins.iter().map(|&(bin, units)| {
            let high = units as f64;
            let low = (units - high as i128) as f64;
            Twofold::sum(high * unit(bin), low * unit(bin))
        });
        parts.fold(Twofold::default(), Twofold::add)
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<I: IntoIterator<Item = f64>>(parts: I) -> Self {
        let mut sum = Self::default();
        parts.into_iter().for_each(|part| sum.add(part));
        sum
    }
}

/// The bin of a number, and how many of its units it is.
fn split(part: f64) -> (u8, i128) {
    let bits = part.to_bits();
    let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let (above_least, leading) = match exponent {
        0 => (0, 0),
        exponent => (exponent - 1, 1 << 52),
    };
    let units = i128::from(fraction | leading) << (above_least % WIDTH);
    ((above_least / WIDTH) as u8, units)
}

/// What one unit of a bin is: 2^-1074, the least number there is, in the first.
fn unit(bin: u8) -> f64 {
    let above_least = u64::from(bin) * WIDTH;
    match above_least.checked_sub(51) {
        Some(exponent) if exponent > 0 => f64::from_bits(exponent << 52),
        _ => f64::from_bits(1 << above_least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_out_leaves_no_trace() {
        let mut sum: ExactSum = [0.1, 3.3].into_iter().collect();
        let before = sum.value();
        for part in [1e100, 1e-300, 7.7, f64::MIN_POSITIVE / 8.0] {
            sum.add(part);
        }
        for part in [7.7, 1e100, f64::MIN_POSITIVE / 8.0, 1e-300] {
            sum.take(part);
        }
        assert_eq!(sum.value(), before);
        sum.take(0.1);
        sum.take(3.3);
        assert_eq!((sum.value(), sum.bins.len()), (0.0, 0));
    }

    #[test]
    fn a_number_alone_is_its_own_sum() {
        for part in [0.1, 1.0, 1e100, 1e-300, 5e-324, f64::MIN_POSITIVE, 1e300] {
            assert_eq!([part].into_iter().collect::<ExactSum>().value(), part);
        }
    }

    #[test]
    fn a_negative_part_takes_away() {
        let sum: ExactSum = [0.3, -0.1, 1e20, -1e20, -0.1].into_iter().collect();
        let mut same: ExactSum = [0.3].into_iter().collect();
        same.take(0.1);
        same.take(0.1);
        assert_eq!(sum, same);
        assert!((sum.value() - 0.1).abs() < 1e-16);
    }

    #[test]
    fn what_a_plain_number_cannot_hold_is_in_the_second_part() {
        let mut sum: ExactSum = [1e16, 0.1, 3.3].into_iter().collect();
        assert_eq!((sum.twofold() - Twofold::from(1e16)).value(), 0.1 + 3.3);
        sum.take(1e16);
        assert_eq!(sum.twofold().value(), sum.value());
    }

    #[test]
    fn ten_tenths_are_one_and_order_does_not_matter() {
        assert_eq!(std::iter::repeat_n(0.1, 10).collect::<ExactSum>().value(), 1.0);
        let parts = [1e16, 0.1, 3.3, 1e-9, 7.7, 0.2];
        let there: ExactSum = parts.into_iter().collect();
        let back: ExactSum = parts.into_iter().rev().collect();
        assert_eq!(there.value(), back.value());
    }
}
