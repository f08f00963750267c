//! How many waiting requests are taken up in a second: what turns a number of
//! requests ahead into a predicted wait.
//!
//! Measured while all places are taken. Where that was never long enough, the
//! estimate leans on Little's law: limit over mean handling time.

use std::time::Duration;

use crate::meter::Meter;
use crate::time::Time;

/// Departures that the estimate from handling times is worth.
const PRIOR: f64 = 8.0;

/// Departures per second under full occupancy, as the mean of a Gamma posterior
/// whose evidence fades.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceRate {
    pub(crate) meter: Meter,
    departures: f64,
    seconds: f64,
}

impl ServiceRate {
    /// Takes up what the meter saw since the last call, `window` ago or more.
    /// What was seen under full occupancy fades with that time constant; over
    /// idle time ten times slower.
    pub(crate) fn fold(&mut self, at: Time, passed: Duration, window: Duration) {
        let (departures, busy) = self.meter.take(at);
        if busy.is_zero() && departures == 0 && self.seconds == 0.0 && self.departures == 0.0 {
            // Nothing was seen, and there is nothing that could fade.
            return;
        }
        let busy = busy.as_secs_f64();
        let idle = (passed.as_secs_f64() - busy).max(0.0);
        let kept = (-(busy + idle * 0.1) / window.as_secs_f64()).exp();
        self.departures = self.departures * kept + f64::from(departures);
        self.seconds = self.seconds * kept + busy;
    }

    /// Per second, given what handling times suggest. `None` if there is neither.
    pub(crate) fn per_second(&self, suggested: Option<f64>) -> Option<f64> {
        match suggested {
            Some(rate) if rate > 0.0 => {
                Some((self.departures + PRIOR) / (self.seconds + PRIOR / rate))
            }
            _ if self.departures >= 1.0 && self.seconds > 0.0 => {
                Some(self.departures / self.seconds)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(500);

    fn run(rate: &mut ServiceRate, from: u64, to: u64, every: u64) {
        rate.meter.set(Time::from_millis(from), true);
        for millis in from..to {
            if millis % every == 0 {
                rate.meter.departed();
            }
            if millis % 10 == 9 {
                rate.fold(Time::from_millis(millis + 1), Duration::from_millis(10), WINDOW);
            }
        }
    }

    #[test]
    fn without_evidence_the_suggestion_stands() {
        assert_eq!(ServiceRate::default().per_second(Some(1600.0)), Some(1600.0));
        assert_eq!(ServiceRate::default().per_second(None), None);
    }

    #[test]
    fn full_occupancy_outweighs_a_wrong_suggestion() {
        let mut rate = ServiceRate::default();
        run(&mut rate, 0, 2000, 1);
        let found = rate.per_second(Some(32_000.0)).unwrap();
        assert!((950.0..1050.0).contains(&found), "{found}");
    }

    #[test]
    fn a_tenfold_slowdown_is_seen_within_a_second_and_a_half() {
        let mut rate = ServiceRate::default();
        run(&mut rate, 0, 2000, 1);
        run(&mut rate, 2000, 3500, 10);
        let found = rate.per_second(Some(100.0)).unwrap();
        assert!(found < 160.0, "{found}");
    }

    #[test]
    fn handlers_that_hang_bring_the_rate_down_but_not_to_nothing() {
        let mut rate = ServiceRate::default();
        run(&mut rate, 0, 1000, 1);
        run(&mut rate, 1001, 9000, 100_000);
        let found = rate.per_second(Some(1000.0)).unwrap();
        assert!((1.0..40.0).contains(&found), "{found}");
    }
}
