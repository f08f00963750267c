//! What lies between two hosts, and which load would narrow it.
//!
//! Moving a load `l` over a gap `g` lowers the sum of the squares of the two host
//! loads by `2l(g - l)`, which is `g²/2 - 2(l - g/2)²`: the best load is the one
//! nearest to half the gap, and the gap itself or more would not help at all.
//!
//! Sums of loads are rounded, so a load of exactly the gap can look smaller than
//! it. It would then be moved there, and back, for ever, once a cooldown. So a
//! load must be smaller by more than rounding can amount to.

/// The part of the hot host's load that is taken for rounding. Compensated sums
/// are off by about 10^-16, a cycle's moves add as much each; and for less than
/// a billionth nobody would move a shard.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    half: f64,
    limit: f64,
}

impl Gap {
    pub(super) fn between(hot: f64, cold: f64) -> Self {
        let gap = hot - cold;
        Self { half: gap / 2.0, limit: gap - hot * ROUNDING }
    }

    /// Whether moving this load makes the pair more even.
    pub(super) fn fits(self, load: f64) -> bool {
        load > 0.0 && load < self.limit
    }

    /// The load that would make the pair equal.
    pub(super) fn half(self) -> f64 {
        self.half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_nothing_and_the_gap_fits() {
        let gap = Gap::between(12.0, 2.0);
        assert!(gap.fits(0.5) && gap.fits(5.0) && gap.fits(9.9));
        assert!(!gap.fits(0.0) && !gap.fits(10.0) && !gap.fits(11.0));
        assert_eq!(gap.half(), 5.0);
    }

    #[test]
    fn rounding_does_not_make_room() {
        // 10 and two shards that count as 10/15 each, against two such shards.
        let unmeasured = 2.0 * (10.0 / 15.0);
        let apart = (10.0 + unmeasured) - unmeasured;
        assert!(apart >= 10.0 && apart - 10.0 < 1e-12);
        assert!(!Gap::between(10.0 + unmeasured, unmeasured).fits(10.0));
        assert!(!Gap::between(10.0 + 1e-12, 0.0).fits(10.0));
    }

    #[test]
    fn nothing_fits_where_nothing_is_between() {
        assert!(!Gap::between(5.0, 5.0).fits(1e-12));
        assert!(!Gap::between(0.0, 0.0).fits(0.0));
    }
}
