//! DAGOR, WeChat's overload control (Zhou et al., SoCC 2018).
//!
//! A window of a second or 2,000 requests, whichever ends first. If its average
//! queue wait was above 20 ms, the next window is to admit 5 % less than this one
//! did, otherwise 1 % more. A histogram of the arrivals by rank (level, then user)
//! gives the rank up to which that is so.

use std::time::Duration;

use plimsoll_shedding::Time;

use crate::asked::Asked;
use crate::machine::{Algorithm, Load};

const WINDOW: Duration = Duration::from_secs(1);
const WINDOW_REQUESTS: u64 = 2_000;
const OVERLOADED_FROM: Duration = Duration::from_millis(20);
const ALPHA: f64 = 0.05;
const BETA: f64 = 0.01;

/// DAGOR before a first-come queue.
#[derive(Debug)]
pub struct Dagor {
    slots: usize,
    /// The least important rank that is admitted.
    cursor: usize,
    window: Window,
}

#[derive(Debug)]
struct Window {
    since: Time,
    arrived: Box<[u64; Asked::RANKS]>,
    arrivals: u64,
    admitted: u64,
    served: u32,
    waited: Duration,
}

impl Window {
    fn new(since: Time) -> Self {
        let arrived = Box::new([0; Asked::RANKS]);
        let waited = Duration::ZERO;
        Self { since, arrived, arrivals: 0, admitted: 0, served: 0, waited }
    }

    fn is_over(&self, now: Time) -> bool {
        now - self.since >= WINDOW || self.arrivals >= WINDOW_REQUESTS
    }

    fn overloaded(&self) -> bool {
        self.served > 0 && self.waited / self.served > OVERLOADED_FROM
    }

    /// The rank up to which as many arrived as are to be admitted.
    fn cut(&self, cursor: usize) -> usize {
        let up_to = |rank: usize| -> u64 { self.arrived[..=rank].iter().sum() };
        let (mut rank, last) = (cursor, Asked::RANKS - 1);
        if self.overloaded() {
            let wanted = self.admitted as f64 * (1.0 - ALPHA);
            while rank > 0 && up_to(rank) as f64 > wanted {
                rank -= 1;
            }
        } else {
            let wanted = self.admitted as f64 * (1.0 + BETA);
            while rank < last && (up_to(rank) as f64) < wanted {
                rank += 1;
            }
        }
        rank
    }
}

impl Dagor {
    /// `slots` handlers at once.
    pub fn new(slots: usize) -> Self {
        Self { slots, cursor: Asked::RANKS - 1, window: Window::new(Time::ZERO) }
    }
}

impl Algorithm for Dagor {
    fn slots(&self) -> usize {
        self.slots
    }

    fn arrive(&mut self, now: Time, asked: &Asked, _load: Load) -> bool {
        if self.window.is_over(now) {
            self.cursor = self.window.cut(self.cursor);
            self.window = Window::new(now);
        }
        let (rank, window) = (asked.rank(), &mut self.window);
        let admitted = rank <= self.cursor;
        window.arrivals += 1;
        window.arrived[rank] += 1;
        window.admitted += u64::from(admitted);
        admitted
    }

    fn dequeue(&mut self, _now: Time, _asked: &Asked, wait: Duration) -> bool {
        self.window.served += 1;
        self.window.waited += wait;
        true
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::criticality::Cohort;

    use super::*;
    use crate::asked::tests::of;

    /// A second in which each cohort of levels 2 and 4 asked once and waited so long.
    fn second(dagor: &mut Dagor, from: u64, wait: Duration) -> (usize, usize) {
        let mut admitted = (0, 0);
        for n in 0..128_u8 {
            let now = Time::from_millis(from + u64::from(n) * 7);
            let cohort = Cohort::from_number(n).unwrap();
            for (level, count) in [(2, &mut admitted.0), (4, &mut admitted.1)] {
                if dagor.arrive(now, &Asked { cohort, ..of(level) }, Load::default()) {
                    *count += 1;
                    assert!(dagor.dequeue(now, &of(level), wait));
                }
            }
        }
        admitted
    }

    #[test]
    fn an_overloaded_second_costs_the_least_important_twentieth() {
        let mut dagor = Dagor::new(1);
        let long = Duration::from_millis(21);
        assert_eq!(second(&mut dagor, 0, long), (128, 128));
        let (critical, other) = second(&mut dagor, 1000, long);
        // 256 * 0.95 = 243.2: the cut is the last rank up to which no more arrived.
        assert_eq!((critical, other), (128, 115));
    }

    #[test]
    fn a_quiet_second_lets_one_percent_more_in() {
        let mut dagor = Dagor::new(1);
        second(&mut dagor, 0, Duration::from_millis(21));
        second(&mut dagor, 1000, Duration::from_millis(20));
        // 243 * 1.01 = 245.4: the first rank up to which as many arrived.
        assert_eq!(second(&mut dagor, 2000, Duration::ZERO), (128, 118));
    }
}
