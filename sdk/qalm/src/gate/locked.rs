//! What is behind the lock: the shedder, and those who wait for it.

use std::sync::Arc;
use std::task::Waker;

use plimsoll_shedding::request::QueueIndex;
use plimsoll_shedding::settings::{QueueSettings, ServiceSettings};
use plimsoll_shedding::verdict::{Outcome, Ticket, Verdict};
use plimsoll_shedding::{Shedder, Time};
use slab::Slab;

use super::wakers::Wakers;

#[derive(Debug)]
#[repr(C)]
pub(super) struct Locked {
    /// First, beside the lock: see [`Shedder`].
    pub(super) shedder: Shedder,
    pub(super) names: Vec<Arc<str>>,
    waiters: Slab<Waiter>,
    /// By ticket slot, the key of its waiter. A slot is used again as soon as its
    /// verdict is polled, a key only after the verdict was fetched.
    keys: Vec<usize>,
    /// When the timer will come by itself; `None`: it sleeps until it is told.
    pub(super) timer: Option<Time>,
}

/// One that waits, or that has a verdict and has not fetched it.
#[derive(Debug)]
enum Waiter {
    Waiting(Ticket, Option<Waker>),
    Decided(Verdict),
}

impl Locked {
    pub(super) fn new(settings: ServiceSettings, seed: u64) -> Self {
        Self {
            shedder: Shedder::new(settings, seed),
            names: Vec::new(),
            waiters: Slab::new(),
            keys: Vec::new(),
            timer: None,
        }
    }

    pub(super) fn add_queue(&mut self, name: &str, settings: QueueSettings) -> QueueIndex {
        let index = self.shedder.add_queue(settings);
        self.names.push(Arc::from(name));
        index
    }

    /// Somebody waits from now on. Returns the key to ask with.
    pub(super) fn park(&mut self, ticket: Ticket) -> usize {
        let key = self.waiters.insert(Waiter::Waiting(ticket, None));
        let slot = ticket.slot as usize;
        if self.keys.len() <= slot {
            self.keys.resize(slot + 1, usize::MAX);
        }
        self.keys[slot] = key;
        key
    }

    /// Hands the shedder's verdicts to those who wait for them.
    pub(super) fn deliver(&mut self, wakers: &mut Wakers) {
        while let Some(verdict) = self.shedder.poll_verdict() {
            self.hand_over(verdict, wakers);
        }
    }

    pub(super) fn hand_over(&mut self, (ticket, verdict): (Ticket, Verdict), wakers: &mut Wakers) {
        let key = self.keys.get(ticket.slot as usize).copied().unwrap_or(usize::MAX);
        if let Some(waiter) = self.waiters.get_mut(key) {
            let before = std::mem::replace(waiter, Waiter::Decided(verdict));
            if let Waiter::Waiting(_, Some(waker)) = before {
                wakers.push(waker);
            }
        }
    }

    /// Whether the timer would come too late for what is due next.
    #[inline]
    pub(super) fn due_earlier(&mut self) -> bool {
        let Some(due) = self.shedder.poll_timeout() else { return false };
        let earlier = self.timer.is_none_or(|timer| due < timer);
        if earlier {
            self.timer = Some(due);
        }
        earlier
    }

    /// The verdict, once. Until there is one, `waker` is told of it.
    pub(super) fn fetch(&mut self, now: Time, key: usize, waker: &Waker) -> Option<Verdict> {
        if let Some(Waiter::Waiting(_, known)) = self.waiters.get_mut(key) {
            if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
                *known = Some(waker.clone());
            }
            return None;
        }
        let mut verdict = self.decided(key)?;
        if let Verdict::Admitted(permit) = &mut verdict {
            self.shedder.started(now, permit);
        }
        Some(verdict)
    }

    /// Nobody waits under this key any more: its place is free at once.
    pub(super) fn leave(&mut self, now: Time, key: usize) {
        match self.waiters.try_remove(key) {
            Some(Waiter::Waiting(ticket, _)) => self.shedder.cancel(now, ticket),
            Some(Waiter::Decided(Verdict::Admitted(permit))) => {
                self.shedder.complete(now, permit, Outcome::Abandoned);
            }
            Some(Waiter::Decided(Verdict::Refused(_))) | None => {}
        }
    }

    fn decided(&mut self, key: usize) -> Option<Verdict> {
        match self.waiters.try_remove(key)? {
            Waiter::Decided(verdict) => Some(verdict),
            Waiter::Waiting(..) => None,
        }
    }
}
