//! Cinnamon, the seed's successor at Uber: a PID controller finds which part of
//! the requests to refuse, a priority queue orders the rest.
//!
//! Constants and the sign of the free places are from published re-implementations
//! that took them from Uber's posts. Its auto-tuner is replaced by the right
//! number of places, to its advantage. The controller works from the first wait on
//! and forgets everything once the queue has been empty for ten seconds.

mod controller;

use std::collections::VecDeque;
use std::time::Duration;

use plimsoll_shedding::Time;

use self::controller::{Controller, Interval};
use crate::asked::Asked;
use crate::machine::{Algorithm, Load, Order};

const EVERY: Duration = Duration::from_millis(500);
const EMPTY_FOR: Duration = Duration::from_secs(10);
/// A third of the time that a caller waits.
const TIMEOUT_SHARE: f64 = 0.33;
const REMEMBERED: usize = 1_000;

/// Cinnamon with a given number of places.
#[derive(Debug)]
pub struct Cinnamon {
    slots: usize,
    queue_timeout: Duration,
    controller: Controller,
    interval: Interval,
    interval_ends: Time,
    /// When somebody last had to wait; `None`: not for ten seconds.
    waited_at: Option<Time>,
    ranks: VecDeque<usize>,
    /// The least important rank that is admitted.
    cut: usize,
}

impl Cinnamon {
    /// `slots` handlers at once; callers wait for `patience` in all.
    pub fn new(slots: usize, patience: Duration) -> Self {
        Self {
            slots,
            queue_timeout: patience.mul_f64(TIMEOUT_SHARE),
            controller: Controller::default(),
            interval: Interval::default(),
            interval_ends: Time::ZERO + EVERY,
            waited_at: None,
            ranks: VecDeque::with_capacity(REMEMBERED),
            cut: Asked::RANKS,
        }
    }

    fn tick(&mut self, now: Time, load: Load) {
        if now < self.interval_ends {
            return;
        }
        self.interval_ends = now + EVERY;
        let mut interval = std::mem::take(&mut self.interval);
        interval.free = self.slots.saturating_sub(load.inflight);
        interval.slots = self.slots;
        if self.waited_at.is_some_and(|at| now - at < EMPTY_FOR) {
            let ratio = self.controller.step(interval);
            self.cut = self.rank_at(1.0 - ratio);
        } else {
            self.controller = Controller::default();
            (self.waited_at, self.cut) = (None, Asked::RANKS);
        }
    }

    /// The rank below which that part of the last thousand requests lies.
    fn rank_at(&self, part: f64) -> usize {
        let mut ranks: Vec<_> = self.ranks.iter().copied().collect();
        ranks.sort_unstable();
        let index = (part * ranks.len() as f64).floor() as usize;
        ranks.get(index).copied().unwrap_or(Asked::RANKS)
    }

    fn remember(&mut self, rank: usize) {
        if self.ranks.len() == REMEMBERED {
            self.ranks.pop_front();
        }
        self.ranks.push_back(rank);
    }
}

impl Algorithm for Cinnamon {
    fn slots(&self) -> usize {
        self.slots
    }

    fn order(&self) -> Order {
        Order::Level
    }

    fn arrive(&mut self, now: Time, asked: &Asked, load: Load) -> bool {
        self.tick(now, load);
        if load.waiting > 0 {
            self.waited_at = Some(now);
        }
        self.remember(asked.rank());
        let admitted = asked.rank() < self.cut;
        self.interval.arrived += usize::from(admitted);
        admitted
    }

    fn dequeue(&mut self, _now: Time, _asked: &Asked, wait: Duration) -> bool {
        wait < self.queue_timeout
    }

    fn complete(&mut self, now: Time, _asked: &Asked, _handling: Duration, load: Load) {
        self.interval.ended += 1;
        self.tick(now, load);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::criticality::Cohort;

    use super::*;
    use crate::asked::tests::of;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// Two arrive each 10 ms, one of level 2 and one of level 4, and one ends.
    /// The parts of either level that were let in from the third second on.
    fn overloaded(peer: &mut Cinnamon) -> [f64; 2] {
        let (mut admitted, mut asked) = ([0.0; 2], 0.0);
        for n in 0..600_u64 {
            let cohort = Cohort::from_hash(n * 37);
            let load = Load { inflight: 1, waiting: 5 };
            let levels = [2, 4].map(|level| Asked { cohort, ..of(level) });
            let passed = levels.map(|it| peer.arrive(at(n * 10), &it, load));
            peer.complete(at(n * 10), &levels[0], Duration::from_millis(10), load);
            if n >= 300 {
                asked += 1.0;
                for (count, passed) in admitted.iter_mut().zip(passed) {
                    *count += f64::from(u8::from(passed));
                }
            }
        }
        admitted.map(|count| count / asked)
    }

    fn peer() -> Cinnamon {
        Cinnamon::new(1, Duration::from_millis(400))
    }

    #[test]
    fn twofold_overload_is_settled_by_refusing_the_less_important_half() {
        let [critical, other] = overloaded(&mut peer());
        assert!(critical > 0.9 && other < 0.1, "{critical} {other}");
    }

    #[test]
    fn an_empty_queue_for_ten_seconds_ends_the_refusing() {
        let mut peer = peer();
        overloaded(&mut peer);
        let last = Asked { cohort: Cohort::from_hash(127), ..of(4) };
        assert!(!peer.arrive(at(6_001), &last, Load::default()));
        assert!(peer.arrive(at(17_000), &last, Load::default()));
    }

    #[test]
    fn a_third_of_the_patience_is_all_that_one_waits() {
        let mut peer = Cinnamon::new(1, Duration::from_millis(300));
        assert!(peer.dequeue(at(0), &of(1), Duration::from_millis(98)));
        assert!(!peer.dequeue(at(0), &of(1), Duration::from_millis(100)));
    }
}
