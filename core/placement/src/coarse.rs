//! A number in half the room: where there is one for every shard and six digits
//! are enough.
//!
//! The upper half of an `f64`, so it has its range (the square of a load may be
//! 10^200, which an `f32` cannot hold) and twenty bits of fraction.

/// A number that is not negative, to a millionth of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Coarse(u32);

impl Coarse {
    pub(crate) const NOTHING: Self = Self(0);

    /// The nearest there is.
    pub(crate) fn of(value: f64) -> Self {
        Self(((value.to_bits() + (1 << 31)) >> 32) as u32)
    }

    pub(crate) fn value(self) -> f64 {
        f64::from_bits(u64::from(self.0) << 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millionth_is_lost_at_most() {
        for value in [1.0 / 3.0, 7.7, 1e200, 1e-200, 123_456.789] {
            let kept = Coarse::of(value).value();
            assert!((kept - value).abs() <= 1e-6 * value, "{value} became {kept}");
        }
    }

    #[test]
    fn nothing_and_small_whole_numbers_are_kept_exactly() {
        for value in [0.0, 1.0, 2.0, 100.0, 1024.5] {
            assert_eq!(Coarse::of(value).value(), value);
        }
    }
}
