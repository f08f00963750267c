//! All queues of one service as one state machine.
//!
//! `arrive`, `complete`, `cancel` and `signal` are what happens; `poll_verdict`
//! tells what became of those who waited; `poll_timeout` when to call
//! `handle_timeout`. One lock around it is held for some tens of nanoseconds.

mod arriving;
mod calm;
mod leaving;
mod passing;
mod refusing;
mod serving;
mod viewing;

use std::time::Duration;

use std::collections::VecDeque;

use crate::bystanders::Bystanders;
use crate::expiry::Expiries;
use crate::jitter::Jitter;
use crate::pressure::Pressure;
use crate::queue::Queue;
use crate::request::{QueueIndex, Request};
use crate::service::Places;
use crate::settings::{QueueSettings, ServiceSettings};
use crate::signal::Signal;
use crate::stall::RunningClock;
use crate::time::Time;
use crate::verdict::{Arrival, Outcome, Permit, Ticket, Verdict};
use crate::waiting::{Fate, WaitingRoom};

/// Decides who is admitted.
///
/// In this order, since what every request writes then lies in one line of the
/// cache, beside the shell's lock.
#[derive(Debug)]
#[repr(C)]
pub struct Shedder {
    clock: RunningClock,
    places: Places,
    queues: Vec<Queue>,
    service: ServiceSettings,
    room: WaitingRoom,
    /// Slots whose verdict is ready.
    verdicts: VecDeque<u32>,
    expiries: Expiries,
    /// Queues that need a timer.
    awake: Vec<u32>,
    /// Whose turn it is among the awake, by level.
    turns: [usize; 4],
    pressure: Pressure,
    /// While a resource presses, and from then on.
    bystanders: Option<Box<Bystanders>>,
    jitter: Jitter,
    seed: u64,
    is_shut_down: bool,
}

/// A moment, as the clock shows it and in time that the process ran.
#[derive(Clone, Copy, Debug)]
struct Moment {
    now: Time,
    at: Time,
}

impl Shedder {
    /// A service without queues. `seed` settles jitter and the order in which
    /// cohorts are dropped.
    pub fn new(service: ServiceSettings, seed: u64) -> Self {
        Self {
            service,
            queues: Vec::new(),
            places: Places::new(service),
            room: WaitingRoom::default(),
            verdicts: VecDeque::new(),
            expiries: Expiries::default(),
            awake: Vec::new(),
            turns: [0; 4],
            pressure: Pressure::default(),
            bystanders: None,
            clock: RunningClock::new(),
            jitter: Jitter::new(seed),
            seed,
            is_shut_down: false,
        }
    }

    /// A new queue. Queues are never removed; there are as many as the policy and
    /// the shell's bound on endpoints allow.
    pub fn add_queue(&mut self, settings: QueueSettings) -> QueueIndex {
        let at = self.clock.latest();
        self.queues.push(Queue::new(at, settings, self.service.cores));
        QueueIndex(self.queues.len() as u32 - 1)
    }

    /// Changes the settings of a queue; requests in it stay.
    pub fn set_queue(&mut self, now: Time, queue: QueueIndex, settings: QueueSettings) {
        let moment = self.observe(now);
        if let Some(it) = self.queues.get_mut(queue.0 as usize) {
            it.set(moment.at, settings, self.service.cores);
            self.serve(moment, queue.0 as usize);
            self.set_timer(moment);
        }
    }

    /// Changes the settings of the service.
    pub fn set_service(&mut self, now: Time, settings: ServiceSettings) {
        let moment = self.observe(now);
        self.service = settings;
        self.places.set(moment.at, settings);
        self.serve_all(moment);
        self.set_timer(moment);
    }

    /// A request has arrived.
    pub fn arrive(&mut self, now: Time, request: &Request) -> Arrival {
        match self.arrive_calmly(now, request) {
            Some(permit) => Arrival::Admitted(permit),
            None => self.arrive_watched(now, request),
        }
    }

    /// The handler runs for the first time: what passed since its admission was the
    /// runtime's queue, and counts as queue wait. Only the first call counts.
    pub fn started(&mut self, now: Time, permit: &mut Permit) {
        if std::mem::replace(&mut permit.started, true) {
            return;
        }
        let moment = self.observe(now);
        let lag = moment.now - permit.admitted_at;
        if let Some(queue) = self.queues.get_mut(permit.queue.0 as usize) {
            queue.lag.saw(lag);
        }
    }

    /// A handler has ended.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is given back once")]
    pub fn complete(&mut self, now: Time, permit: Permit, outcome: Outcome) {
        if !self.complete_calmly(now, &permit, outcome) {
            self.complete_watched(now, &permit, outcome);
        }
    }

    /// Nobody waits for this one any more: its place is free at once. If its
    /// verdict was given and not polled yet, it is taken back. A ticket whose
    /// verdict was polled is ignored: its permit is completed instead.
    pub fn cancel(&mut self, now: Time, ticket: Ticket) {
        let moment = self.observe(now);
        match self.room.fate_of(ticket) {
            Some(Fate::Waiting) => self.withdraw(moment, ticket.slot),
            Some(Fate::Admitted) => {
                let permit = self.permit_of(ticket.slot);
                self.room.set_fate(ticket.slot, Fate::Dropped);
                self.release(moment, &permit);
            }
            Some(Fate::Refused(_)) => self.room.set_fate(ticket.slot, Fate::Dropped),
            Some(Fate::Free | Fate::Dropped) | None => {}
        }
    }

    /// A resource has been measured.
    pub fn signal(&mut self, now: Time, signal: Signal) {
        let moment = self.observe(now);
        self.pressure.read(moment.at, signal);
    }

    /// The shell calls again within that long, unless the process stands still: so a
    /// stall is noticed in which nobody waited.
    pub fn expect_call(&mut self, now: Time, within: Duration) {
        let moment = self.observe(now);
        self.clock.expect(moment.now + within);
    }

    /// From now on nobody new is admitted; those who wait are refused.
    pub fn shut_down(&mut self, now: Time) {
        let moment = self.observe(now);
        self.is_shut_down = true;
        self.refuse_all_waiting(moment);
        self.set_timer(moment);
    }

    /// What became of one that waited. Poll after every other call until `None`.
    #[inline]
    pub fn poll_verdict(&mut self) -> Option<(Ticket, Verdict)> {
        if self.verdicts.is_empty() { None } else { self.next_verdict() }
    }

    #[inline(never)]
    fn next_verdict(&mut self) -> Option<(Ticket, Verdict)> {
        while let Some(slot) = self.verdicts.pop_front() {
            let ticket = self.room.ticket(slot);
            let verdict = match self.room.fate(slot) {
                Fate::Admitted => Some(Verdict::Admitted(self.permit_of(slot))),
                Fate::Refused(refusal) => Some(Verdict::Refused(refusal)),
                Fate::Free | Fate::Waiting | Fate::Dropped => None,
            };
            self.room.leave(slot);
            if let Some(verdict) = verdict {
                return Some((ticket, verdict));
            }
        }
        None
    }

    /// When `handle_timeout` is due: an expiry, or a window that must close.
    /// `None`: nobody waits and nothing is shed.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.clock.due()
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        let moment = self.observe(now);
        self.pass_time(moment);
    }

    fn observe(&mut self, now: Time) -> Moment {
        let (now, woke) = self.clock.observe(now);
        let at = self.clock.running(now);
        let moment = Moment { now, at };
        if woke {
            self.thaw(moment);
        }
        moment
    }
}
