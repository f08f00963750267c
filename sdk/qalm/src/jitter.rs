//! Numbers that differ from call to call and from process to process: callers
//! that were refused together must not come again together.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// SplitMix64 (Steele, Lea, Flood 2014): one addition shared by all threads.
#[derive(Debug)]
pub(crate) struct Jitter(AtomicU64);

impl Default for Jitter {
    fn default() -> Self {
        Self::seeded(RandomState::new().hash_one(std::process::id()))
    }
}

impl Jitter {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Evenly from 0 up to, not including, 1.
    pub(crate) fn next(&self) -> f64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_even_and_the_seed_decides() {
        let (jitter, same) = (Jitter::seeded(7), Jitter::seeded(7));
        let numbers: Vec<f64> = (0..10_000).map(|_| jitter.next()).collect();
        assert!(numbers.iter().all(|it| (0.0..1.0).contains(it)));
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert_eq!(same.next(), numbers[0]);
        assert_ne!(Jitter::seeded(8).next(), numbers[0]);
    }
}
