//! Time in which this process ran: what passed while it stood still (SIGSTOP, a
//! paused machine, a blocked event loop) is nobody's queue wait.
//!
//! A stall is only believed when a call was due, a timer or the shell's next look at
//! its resources, and neither that nor any other came: silence is merely silence
//! where nothing was due.

use std::time::Duration;

use crate::time::Time;

/// A timer later than this was held up by a stall.
pub(crate) const TOLERATED: Duration = Duration::from_millis(50);

/// Turns the clock's time into time that the process ran.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RunningClock {
    last: Time,
    /// In nanoseconds: every request takes it off.
    stalled: u64,
    alarm: Time,
    /// `Time::MAX`: no timer is due.
    due: Time,
    /// When the shell will call unasked; `Time::MAX`: it has not said so.
    expected: Time,
}

impl RunningClock {
    pub(crate) fn new() -> Self {
        Self { last: Time::ZERO, stalled: 0, due: Time::MAX, expected: Time::MAX, alarm: Time::MAX }
    }

    /// The latest time seen, on the clock, and whether the process stood still
    /// before it. A clock that goes back is not followed.
    #[inline]
    pub(crate) fn observe(&mut self, now: Time) -> (Time, bool) {
        let silent_since = self.last;
        self.last = self.last.max(now);
        let woke = now > self.alarm && self.take_out(silent_since);
        (self.last, woke)
    }

    #[cold]
    fn take_out(&mut self, silent_since: Time) -> bool {
        let stall = self.last - self.due.min(self.expected).max(silent_since);
        let woke = stall > TOLERATED;
        // A shell that no longer calls is not waited for.
        self.expect(Time::MAX);
        if woke {
            self.stalled += stall.as_nanos() as u64;
        }
        woke
    }

    /// `now`, or the latest time seen if that is later; `None`: a timer is so late
    /// that the process may have stood still.
    #[inline]
    pub(crate) fn unless_late(&self, now: Time) -> Option<Time> {
        (now <= self.alarm).then_some(self.last.max(now))
    }

    /// It is `now`, and no timer was late.
    #[inline]
    pub(crate) fn tick(&mut self, now: Time) {
        self.last = now;
    }

    /// Nanoseconds that the process ran between two times on the clock, before the
    /// first of which it had stood still for so many.
    #[inline]
    pub(crate) fn ran(&self, since: Time, stalled: u64, now: Time) -> u64 {
        now.nanos_since(since).saturating_sub(self.stalled - stalled)
    }

    /// `now` without the stalls.
    #[inline]
    pub(crate) fn running(&self, now: Time) -> Time {
        Time::from_nanos(now.as_nanos().saturating_sub(self.stalled))
    }

    /// A running time as the clock would show it if there were no further stall.
    pub(crate) fn on_clock(&self, running: Time) -> Time {
        running + Duration::from_nanos(self.stalled)
    }

    /// The latest running time seen.
    pub(crate) fn latest(&self) -> Time {
        self.running(self.last)
    }

    /// When a call must come at the latest, on the clock.
    #[inline]
    pub(crate) fn due(&self) -> Option<Time> {
        (self.due != Time::MAX).then_some(self.due)
    }

    /// All stalls so far, in nanoseconds.
    #[inline]
    pub(crate) fn stalled(&self) -> u64 {
        self.stalled
    }

    /// Sets when a call must come at the latest, on the clock.
    pub(crate) fn arm(&mut self, due: Option<Time>) {
        self.due = due.unwrap_or(Time::MAX);
        self.set_alarm();
    }

    /// The shell calls by then, on the clock, whatever happens.
    pub(crate) fn expect(&mut self, by: Time) {
        self.expected = by;
        self.set_alarm();
    }

    fn set_alarm(&mut self) {
        self.alarm = self.due.min(self.expected) + TOLERATED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_second_without_calls_while_a_timer_was_due_did_not_pass() {
        let mut clock = RunningClock::new();
        clock.arm(Some(ms(110)));
        assert_eq!(clock.observe(ms(105)), (ms(105), false));
        assert_eq!(clock.observe(ms(1110)), (ms(1110), true));
        assert_eq!(clock.running(ms(1110)), ms(110));
        assert_eq!(clock.on_clock(ms(110)), ms(1110));
    }

    #[test]
    fn silence_without_a_timer_is_no_stall() {
        let mut clock = RunningClock::new();
        assert!(!clock.observe(ms(60_000)).1);
        assert_eq!(clock.stalled(), 0);
    }

    #[test]
    fn a_timer_that_is_late_while_other_calls_come_is_no_stall() {
        let mut clock = RunningClock::new();
        clock.arm(Some(ms(100)));
        assert!((90..300).step_by(40).all(|millis| !clock.observe(ms(millis)).1));
    }

    #[test]
    fn a_clock_that_goes_back_is_not_followed() {
        let mut clock = RunningClock::new();
        clock.observe(ms(10));
        assert_eq!(clock.observe(ms(4)), (ms(10), false));
    }
}
