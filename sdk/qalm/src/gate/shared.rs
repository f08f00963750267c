//! The lock and the clock. Everything that happens goes through [`Shared::tell`]:
//! read the clock, tell the shedder, hand on its verdicts, arm the timer.

use std::sync::Arc;
use std::task::Waker;

use parking_lot::{Mutex, MutexGuard};
use plimsoll_shedding::request::{QueueIndex, Request};
use plimsoll_shedding::settings::{QueueSettings, ServiceSettings};
use plimsoll_shedding::verdict::{Arrival, Permit, Refusal, Ticket, Verdict};
use plimsoll_shedding::{Shedder, Time};

use super::QueueStatus;
use super::locked::Locked;
use super::timer::Timer;
use super::wakers::Wakers;
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct Shared {
    clock: Clock,
    locked: Mutex<Locked>,
    timer: Timer,
}

/// A request's arrival, as its shell sees it.
#[derive(Debug)]
pub(super) enum Arrived {
    Admitted(Permit),
    /// Parked under this key.
    Queued(usize),
    Refused(Refusal),
}

impl Shared {
    pub(super) fn new(settings: ServiceSettings, seed: u64) -> Self {
        Self {
            clock: Clock::new(),
            locked: Mutex::new(Locked::new(settings, seed)),
            timer: Timer::default(),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn timer(&self) -> &Timer {
        &self.timer
    }

    pub(super) fn add_queue(&self, name: &str, settings: QueueSettings) -> QueueIndex {
        self.locked.lock().add_queue(name, settings)
    }

    pub(super) fn status(&self, queue: QueueIndex) -> Option<QueueStatus> {
        let locked = self.locked.lock();
        let view = locked.shedder.view(self.clock.now(), queue)?;
        let name = locked.names.get(queue.0 as usize)?;
        Some(QueueStatus { name: Arc::clone(name), view })
    }

    #[inline]
    pub(super) fn arrive(&self, request: &Request) -> Arrived {
        self.with(|locked, now| match locked.shedder.arrive(now, request) {
            Arrival::Admitted(permit) => Arrived::Admitted(permit),
            Arrival::Queued(ticket) => Arrived::Queued(locked.park(ticket)),
            Arrival::Refused(refusal) => Arrived::Refused(refusal),
        })
    }

    pub(super) fn fetch(&self, key: usize, waker: &Waker) -> Option<Verdict> {
        self.with(|locked, now| locked.fetch(now, key, waker))
    }

    pub(super) fn leave(&self, key: usize) {
        self.with(|locked, now| locked.leave(now, key));
    }

    #[inline]
    pub(super) fn tell<T>(&self, event: impl FnOnce(&mut Shedder, Time) -> T) -> T {
        self.with(|locked, now| event(&mut locked.shedder, now))
    }

    /// What is due is done. Returns when the timer must come again.
    pub(super) fn time_out(&self) -> Option<Time> {
        let mut locked = self.locked.lock();
        let now = self.clock.now();
        if locked.shedder.poll_timeout().is_some_and(|due| due <= now) {
            locked.shedder.handle_timeout(now);
        }
        let mut wakers = Wakers::default();
        locked.deliver(&mut wakers);
        let due = locked.shedder.poll_timeout();
        locked.timer = due;
        drop(locked);
        wakers.wake();
        due
    }

    #[inline]
    fn with<T>(&self, event: impl FnOnce(&mut Locked, Time) -> T) -> T {
        // The time is read under the lock, so that the shedder sees it grow.
        let mut locked = self.locked.lock();
        let value = event(&mut locked, self.clock.now());
        if let Some(first) = locked.shedder.poll_verdict() {
            self.deliver(locked, first);
            return value;
        }
        let due_earlier = locked.due_earlier();
        drop(locked);
        if due_earlier {
            self.timer.nudge();
        }
        value
    }

    /// Hands on verdicts, and wakes those whom they are for after the lock.
    #[cold]
    fn deliver(&self, mut locked: MutexGuard<'_, Locked>, first: (Ticket, Verdict)) {
        let mut wakers = Wakers::default();
        locked.hand_over(first, &mut wakers);
        locked.deliver(&mut wakers);
        let due_earlier = locked.due_earlier();
        drop(locked);
        wakers.wake();
        if due_earlier {
            self.timer.nudge();
        }
    }
}
