//! Overload, or only a burst? The smallest wait in a sliding window tells.
//!
//! A burst is over when somebody was served at once. What stands, and does not
//! shrink, is more work than can be carried: CoDel's bad queue. The wait is that
//! of the longest waiting request, so that those of higher criticality who pass
//! by do not hide a queue that stands behind them.

use std::time::Duration;

/// Parts of the window.
pub(crate) const SLOTS: usize = 10;
/// Slots over which the number of critical requests is compared.
const COMPARED: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Slot {
    min_wait: Duration,
    arrived: u32,
    critical: u32,
}

const UNSEEN: Slot = Slot { min_wait: Duration::MAX, arrived: 0, critical: 0 };

fn nobody_waited() -> [Slot; SLOTS] {
    let mut slots = [Slot { min_wait: Duration::ZERO, ..UNSEEN }; SLOTS];
    slots[0] = UNSEEN;
    slots
}

/// A ring of minima. `slots[0]` is the one in progress.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    slots: [Slot; SLOTS],
}

impl Detector {
    pub(crate) fn new() -> Self {
        Self { slots: nobody_waited() }
    }

    /// Nobody waits.
    #[inline]
    pub(crate) fn saw_empty(&mut self) {
        // Written only if it changes: other cores read what lies beside.
        if !self.slots[0].min_wait.is_zero() {
            self.slots[0].min_wait = Duration::ZERO;
        }
    }

    /// The longest waiting request has waited so long.
    pub(crate) fn saw_wait(&mut self, wait: Duration) {
        self.slots[0].min_wait = self.slots[0].min_wait.min(wait);
    }

    /// Closes `passed` slots, in which so many arrived: with so many critical
    /// requests waiting now, and the longest of all for `oldest`.
    pub(crate) fn roll(&mut self, passed: u64, arrived: u32, critical: u32, oldest: Duration) {
        self.saw_wait(oldest);
        let arrived = arrived / passed.clamp(1, 1 << 20) as u32;
        let passed = passed.clamp(1, SLOTS as u64) as usize;
        self.slots[0] = Slot { arrived, critical, ..self.slots[0] };
        self.slots.copy_within(..SLOTS - passed, passed);
        self.slots[1..passed].fill(Slot { min_wait: oldest, arrived, critical });
        self.slots[0] = UNSEEN;
    }

    /// The smallest wait in the window.
    pub(crate) fn min_wait(&self) -> Duration {
        let min = self.slots.iter().map(|slot| slot.min_wait).min().unwrap_or_default();
        if min == Duration::MAX { Duration::ZERO } else { min }
    }

    /// Whether every wait of the last `whole` slots and of the one in progress was
    /// longer.
    pub(crate) fn stands_above(&self, wait: Duration, whole: usize) -> bool {
        self.slots[..=whole].iter().all(|slot| slot.min_wait > wait)
    }

    /// Arrivals of the last `whole` slots, per slot.
    pub(crate) fn arrivals(&self, whole: usize) -> f64 {
        let arrived: u32 = self.slots[1..=whole].iter().map(|slot| slot.arrived).sum();
        f64::from(arrived) / whole as f64
    }

    /// Whether fewer critical requests wait than half a window ago.
    pub(crate) fn is_draining_critical(&self) -> bool {
        self.slots[1].critical < self.slots[1 + COMPARED].critical
    }

    /// Whether somebody was served at once in the last slots.
    pub(crate) fn was_empty(&self) -> bool {
        self.slots.iter().any(|slot| slot.min_wait.is_zero())
    }

    /// Forgets the window: nothing in it may be trusted.
    pub(crate) fn forget(&mut self) {
        self.slots = nobody_waited();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(5);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn after(rolls: impl IntoIterator<Item = (u32, u64)>) -> Detector {
        let mut detector = Detector::new();
        for (critical, oldest) in rolls {
            detector.roll(1, 4, critical, ms(oldest));
        }
        detector
    }

    #[test]
    fn a_queue_that_stands_is_seen_before_the_window_is_over() {
        let detector = after((1..=5).map(|slot| (slot * 7, 6 + u64::from(slot))));
        assert!(detector.stands_above(TARGET, 5) && !detector.is_draining_critical());
        assert!(!detector.stands_above(TARGET, 6));
    }

    #[test]
    fn one_short_wait_ends_it_at_once() {
        let mut detector = after((1..=9).map(|slot| (slot, 20)));
        detector.saw_empty();
        assert!(!detector.stands_above(TARGET, 0));
        assert_eq!(detector.min_wait(), Duration::ZERO);
    }

    #[test]
    fn critical_requests_that_are_being_worked_off_drain() {
        let detector = after((1..=9).map(|slot| (100 - slot * 10, 20)));
        assert!(detector.stands_above(TARGET, 9) && detector.is_draining_critical());
    }

    #[test]
    fn slots_without_a_start_count_by_the_age_of_the_oldest() {
        let mut detector = Detector::new();
        detector.roll(7, 70, 3, ms(70));
        assert!(detector.stands_above(TARGET, 6) && !detector.is_draining_critical());
        assert_eq!(detector.arrivals(4), 10.0);
    }

    #[test]
    fn the_minimum_is_that_of_the_last_ten_slots() {
        let mut detector = after([(1, 3)]);
        for _ in 0..SLOTS - 2 {
            detector.roll(1, 1, 0, ms(9));
        }
        assert_eq!(detector.min_wait(), ms(3));
        detector.roll(1, 1, 0, ms(9));
        assert_eq!(detector.min_wait(), ms(9));
    }

    #[test]
    fn after_forgetting_nothing_stands() {
        let mut detector = after((1..=9).map(|slot| (slot, 20)));
        detector.forget();
        assert!(!detector.stands_above(TARGET, 1) && detector.was_empty());
    }
}
