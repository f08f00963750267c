//! How long to wait before a server is tried again: full jitter, so that thousands
//! of instances that lost one server do not come back in step.

use std::time::Duration;

/// The longest wait after the first failure; it doubles with each further one.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of all: so soon a server that was away has everybody back.
const LONGEST: Duration = Duration::from_secs(15);
/// 500 ms doubled this often is past the longest.
const DOUBLINGS: u32 = 5;
/// A contact that lasted so long was none of the failures in a row.
const STEADY: Duration = Duration::from_secs(10);

/// Counts failures in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after a contact that lasted so long; `dice` is 0 to 1.
    pub(crate) fn after(&mut self, lasted: Duration, dice: f64) -> Duration {
        if lasted >= STEADY {
            self.failures = 0;
        }
        let ceiling = FIRST.saturating_mul(1 << self.failures.min(DOUBLINGS)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        ceiling.mul_f64(dice.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_half_a_second_to_fifteen() {
        let mut backoff = Backoff::default();
        let ceilings: Vec<_> =
            (0..7).map(|_| backoff.after(Duration::ZERO, 1.0).as_millis()).collect();
        assert_eq!(ceilings, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
        assert_eq!(backoff.after(Duration::ZERO, 0.0), Duration::ZERO);
    }

    #[test]
    fn who_was_connected_for_long_begins_anew_and_who_was_thrown_out_does_not() {
        let mut backoff = Backoff::default();
        for _ in 0..9 {
            backoff.after(Duration::from_secs(1), 1.0);
        }
        assert_eq!(backoff.after(Duration::from_secs(9), 1.0), LONGEST);
        assert_eq!(backoff.after(STEADY, 1.0), FIRST);
    }

    #[test]
    fn a_thousand_who_lost_one_server_spread_over_the_whole_span() {
        let jitter = crate::jitter::Jitter::seeded(7);
        let waits = (0..1000).map(|_| Backoff::default().after(STEADY, jitter.next()));
        let mut tenths = [0; 10];
        waits.for_each(|wait| tenths[(wait.as_millis() / 50).min(9) as usize] += 1);
        assert!(tenths.iter().all(|&count| (50..200).contains(&count)), "{tenths:?}");
    }
}
