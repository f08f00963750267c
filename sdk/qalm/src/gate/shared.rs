//! The lock and the clock. Everything that happens goes through [`Shared::tell`]:
//! read the clock, tell the shedder, hand on its verdicts, arm the timer. Only what
//! changes neither verdicts nor the timer goes by a shorter way.

use std::sync::Arc;
use std::task::Waker;

use parking_lot::{Mutex, MutexGuard};
use plimsoll_shedding::request::{QueueIndex, Request};
use plimsoll_shedding::settings::{QueueSettings, ServiceSettings};
use plimsoll_shedding::verdict::{Arrival, Outcome, Permit, Refusal, Ticket, Verdict};
use plimsoll_shedding::{Shedder, Time};

use super::QueueStatus;
use super::locked::Locked;
use super::timer::Timer;
use super::wakers::Wakers;
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct Shared {
    clock: Clock,
    locked: Line<Mutex<Locked>>,
    timer: Timer,
}

/// At the beginning of a line of the cache, which it shares with nothing before it.
#[derive(Debug)]
#[repr(align(64))]
struct Line<T>(T);

/// A request's arrival, as its shell sees it.
#[derive(Debug)]
pub(super) enum Arrived {
    Admitted(Permit),
    /// Parked under this key.
    Queued(usize),
    Refused(Refusal),
}

/// The lock, and when it was asked for.
#[derive(Debug)]
pub(super) struct Held<'a> {
    locked: MutexGuard<'a, Locked>,
    now: Time,
}

impl Shared {
    pub(super) fn new(settings: ServiceSettings, seed: u64) -> Self {
        Self {
            clock: Clock::new(),
            locked: Line(Mutex::new(Locked::new(settings, seed))),
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
        self.locked.0.lock().add_queue(name, settings)
    }

    pub(super) fn status(&self, queue: QueueIndex) -> Option<QueueStatus> {
        let locked = self.locked.0.lock();
        let view = locked.shedder.view(self.clock.now(), queue)?;
        let name = locked.names.get(queue.0 as usize)?;
        Some(QueueStatus { name: Arc::clone(name), view })
    }

    /// Admits, if that is all there is to it. `Err`: nothing has happened, and the
    /// lock is still held.
    #[inline(always)]
    pub(super) fn arrive_calmly(&self, request: &Request) -> Result<Permit, Held<'_>> {
        let mut held = self.hold();
        let permit = held.locked.shedder.arrive_calmly(held.now, request);
        permit.ok_or(held)
    }

    /// Completes, if that is all there is to it, and says when it was. `Err`: nothing
    /// has happened, and the lock is still held.
    #[inline(always)]
    pub(super) fn complete_calmly(
        &self,
        permit: &Permit,
        outcome: Outcome,
    ) -> Result<Time, Held<'_>> {
        let mut held = self.hold();
        let done = held.locked.shedder.complete_calmly(held.now, permit, outcome);
        if done { Ok(held.now) } else { Err(held) }
    }

    pub(super) fn arrive(&self, held: Held<'_>, request: &Request) -> Arrived {
        self.with(held, |locked, now| match locked.shedder.arrive_watched(now, request) {
            Arrival::Admitted(permit) => Arrived::Admitted(permit),
            Arrival::Queued(ticket) => Arrived::Queued(locked.park(ticket)),
            Arrival::Refused(refusal) => Arrived::Refused(refusal),
        })
    }

    pub(super) fn fetch(&self, key: usize, waker: &Waker) -> Option<Verdict> {
        self.with(self.hold(), |locked, now| locked.fetch(now, key, waker))
    }

    pub(super) fn leave(&self, key: usize) {
        self.with(self.hold(), |locked, now| locked.leave(now, key));
    }

    pub(super) fn tell<T>(&self, event: impl FnOnce(&mut Shedder, Time) -> T) -> T {
        self.tell_held(self.hold(), event)
    }

    /// As [`Shared::tell`], by one that has the lock.
    pub(super) fn tell_held<T>(
        &self,
        held: Held<'_>,
        event: impl FnOnce(&mut Shedder, Time) -> T,
    ) -> T {
        self.with(held, |locked, now| event(&mut locked.shedder, now))
    }

    /// What is due is done. Returns when the timer must come again.
    pub(super) fn time_out(&self) -> Option<Time> {
        let mut locked = self.locked.0.lock();
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

    /// The time is that of asking for the lock, so that nobody waits for another's
    /// reading of the clock. Who had to wait may say a time that lies before what the
    /// shedder has seen: it goes by the latest.
    #[inline]
    fn hold(&self) -> Held<'_> {
        let now = self.clock.now();
        Held { locked: self.locked.0.lock(), now }
    }

    fn with<T>(&self, held: Held<'_>, event: impl FnOnce(&mut Locked, Time) -> T) -> T {
        let Held { mut locked, now } = held;
        let value = event(&mut locked, now);
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
