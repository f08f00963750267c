//! A token bucket: the rate limit that somebody once configured. Whoever gets a
//! token waits in the service's own queue.

use plimsoll_shedding::Time;

use crate::asked::Asked;
use crate::machine::{Algorithm, Load};

/// A bucket that fills at a constant rate.
#[derive(Debug)]
pub struct TokenBucket {
    rate: f64,
    size: f64,
    tokens: f64,
    filled_at: Time,
}

impl TokenBucket {
    /// `rate` tokens a second, above 0; the bucket holds a tenth of a second's, at
    /// least one, and starts full.
    pub fn new(rate: f64) -> Self {
        let size = (rate / 10.0).max(1.0);
        Self { rate, size, tokens: size, filled_at: Time::ZERO }
    }
}

impl Algorithm for TokenBucket {
    fn slots(&self) -> usize {
        usize::MAX
    }

    fn arrive(&mut self, now: Time, _asked: &Asked, _load: Load) -> bool {
        let filled = self.tokens + self.rate * (now - self.filled_at).as_secs_f64();
        (self.tokens, self.filled_at) = (filled.min(self.size), now);
        let admitted = self.tokens >= 1.0;
        if admitted {
            self.tokens -= 1.0;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::of;

    fn admitted(bucket: &mut TokenBucket, millis: impl Iterator<Item = u64>) -> usize {
        millis.filter(|&at| bucket.arrive(Time::from_millis(at), &of(4), Load::default())).count()
    }

    #[test]
    fn over_time_as_many_pass_as_the_rate_says_and_the_bucket_holds() {
        let mut bucket = TokenBucket::new(100.0);
        assert_eq!(admitted(&mut bucket, 0..2000), 10 + 199);
    }

    #[test]
    fn a_burst_takes_what_the_bucket_holds() {
        let mut bucket = TokenBucket::new(100.0);
        assert_eq!(admitted(&mut bucket, std::iter::repeat_n(5000, 50)), 10);
    }
}
