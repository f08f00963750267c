//! `P = ((in - out) - free places) / out`, `Kp` 0.1, `Ki` 1.4 over the last minute.

use std::collections::VecDeque;

const KP: f64 = 0.1;
const KI: f64 = 1.4;
/// A minute of half seconds.
const HISTORY: usize = 120;
/// The length of an interval in seconds.
const SECONDS: f64 = 0.5;

/// What happened in half a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    /// Let in.
    pub(super) arrived: usize,
    pub(super) ended: usize,
    /// Places free at its end.
    pub(super) free: usize,
    pub(super) slots: usize,
}

impl Interval {
    fn error(self) -> f64 {
        let out = if self.ended == 0 { self.slots } else { self.ended };
        (self.arrived as f64 - self.ended as f64 - self.free as f64) / out.max(1) as f64
    }
}

/// The controller and its memory.
#[derive(Debug, Default)]
pub(super) struct Controller(VecDeque<f64>);

impl Controller {
    /// The part of requests to refuse from now on, 0 to 1.
    pub(super) fn step(&mut self, interval: Interval) -> f64 {
        let error = interval.error();
        if self.0.len() == HISTORY {
            self.0.pop_front();
        }
        self.0.push_back(error * SECONDS);
        let sum: f64 = self.0.iter().sum();
        if sum < 0.0 {
            // What was too little must not be made up for by refusing too late.
            self.0.clear();
        }
        (KP * error + KI * sum.max(0.0)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(arrived: usize, ended: usize, free: usize) -> Interval {
        Interval { arrived, ended, free, slots: 10 }
    }

    #[test]
    fn the_ratio_is_the_sum_of_the_proportional_and_the_integral_part() {
        let mut controller = Controller::default();
        let first = controller.step(interval(120, 100, 0));
        assert!((first - (0.1 * 0.2 + 1.4 * 0.1)).abs() < 1e-9, "{first}");
        let second = controller.step(interval(100, 100, 0));
        assert!((second - 1.4 * 0.1).abs() < 1e-9, "balance keeps what was found: {second}");
    }

    #[test]
    fn free_places_lower_the_ratio() {
        let mut controller = Controller::default();
        controller.step(interval(120, 100, 0));
        assert!(controller.step(interval(100, 100, 10)) < 0.14);
    }

    #[test]
    fn it_stays_between_nothing_and_everything() {
        let mut controller = Controller::default();
        assert_eq!(controller.step(interval(0, 100, 10)), 0.0);
        assert_eq!(controller.step(interval(1000, 0, 0)), 1.0);
    }
}
