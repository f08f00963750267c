//! Netflix' partitioned limiter: a share of the limit for each group. A group may
//! use more while all together are below the limit, and never less than its share
//! above it. No queue.

use std::time::Duration;

use plimsoll_shedding::Time;

use crate::asked::Asked;
use crate::limit::Limit;
use crate::machine::{Algorithm, Load};

/// Two groups: critical requests with the whole limit as their share, and the
/// others with none, which still is one place.
#[derive(Debug)]
pub struct Partitioned<L> {
    limit: L,
    /// Critical, others.
    inflight: [usize; 2],
}

const SHARES: [f64; 2] = [1.0, 0.0];

impl<L: Limit> Partitioned<L> {
    pub fn new(limit: L) -> Self {
        Self { limit, inflight: [0; 2] }
    }
}

fn group(asked: &Asked) -> usize {
    usize::from(!asked.level.is_critical())
}

impl<L: Limit> Algorithm for Partitioned<L> {
    fn slots(&self) -> usize {
        usize::MAX
    }

    fn arrive(&mut self, _now: Time, asked: &Asked, load: Load) -> bool {
        let (group, limit) = (group(asked), self.limit.limit().floor());
        let share = (limit * SHARES[group]).ceil().max(1.0);
        let full = load.inflight as f64 >= limit && self.inflight[group] as f64 >= share;
        if !full {
            self.inflight[group] += 1;
        }
        !full
    }

    fn complete(&mut self, now: Time, asked: &Asked, handling: Duration, load: Load) {
        let group = group(asked);
        self.inflight[group] = self.inflight[group].saturating_sub(1);
        self.limit.sample(now, handling, load.inflight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::of;

    #[derive(Debug)]
    struct Ten;

    impl Limit for Ten {
        fn limit(&self) -> f64 {
            10.0
        }

        fn sample(&mut self, _now: Time, _took: Duration, _inflight: usize) {}
    }

    #[test]
    fn others_fill_the_limit_but_critical_ones_pass_up_to_their_share() {
        let mut limiter = Partitioned::new(Ten);
        let mut inflight = 0;
        let mut ask = |level: u8, times: usize| {
            let mut admitted = 0;
            for _ in 0..times {
                let load = Load { inflight, waiting: 0 };
                let passes = limiter.arrive(Time::ZERO, &of(level), load);
                inflight += usize::from(passes);
                admitted += usize::from(passes);
            }
            admitted
        };
        assert_eq!(ask(4, 20), 10);
        assert_eq!(ask(2, 20), 10);
        assert_eq!(ask(4, 20), 0);
    }
}
