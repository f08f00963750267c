//! Random numbers that a seed repeats: for spreading retries, nothing secret.

/// SplitMix64 (Steele, Lea and Flood, 2014): one addition and three multiplications.
#[derive(Clone, Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (mix(self.step()) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn step(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0
    }
}

/// Spreads the bits of a number over all 64.
pub(crate) const fn mix(number: u64) -> u64 {
    let first = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let second = (first ^ (first >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    second ^ (second >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_between_zero_and_one_and_average_a_half() {
        let mut jitter = Jitter::new(7);
        let draws: Vec<f64> = (0..10_000).map(|_| jitter.unit()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }

    #[test]
    fn a_seed_repeats_its_numbers() {
        let (mut one, mut two) = (Jitter::new(3), Jitter::new(3));
        assert!((0..100).all(|_| one.unit() == two.unit()));
    }
}
