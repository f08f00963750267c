//! A queue before a number of slots, with an algorithm that may refuse on either
//! side of it. Pure: [`Pool`](crate::Pool) is its shell.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

use plimsoll_shedding::Time;

use crate::asked::Asked;

/// How full the machine is, without the request that is being decided.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Load {
    pub inflight: usize,
    pub waiting: usize,
}

/// In which order those who wait are served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// First come, first served.
    Arrival,
    /// The most critical level first, arrival inside it.
    Level,
}

/// A load-shedding algorithm. Every method is told the time and nothing else that
/// it was not given.
pub trait Algorithm: Debug + Send + 'static {
    /// Handlers at once. Whoever is admitted beyond that waits.
    fn slots(&self) -> usize;

    /// The order of the queue.
    fn order(&self) -> Order {
        Order::Arrival
    }

    /// Whether an arriving request may go on, to a slot or to the queue.
    fn arrive(&mut self, now: Time, asked: &Asked, load: Load) -> bool {
        let _ = (now, asked, load);
        true
    }

    /// Whether a request that waited so long may still be served. Also told of
    /// those who did not have to wait.
    fn dequeue(&mut self, now: Time, asked: &Asked, wait: Duration) -> bool {
        let _ = (now, asked, wait);
        true
    }

    /// A handler that took so long has ended.
    fn complete(&mut self, now: Time, asked: &Asked, handling: Duration, load: Load) {
        let _ = (now, asked, handling, load);
    }
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrival {
    Admitted,
    Queued,
    Refused,
}

#[derive(Debug)]
struct Waiting<W> {
    asked: Asked,
    since: Time,
    waiter: W,
}

/// One that waited, and what became of it.
#[derive(Debug, Eq, PartialEq)]
pub enum Next<W> {
    /// It has a slot.
    Admitted(W, Asked),
    Refused(W),
}

/// An algorithm with its queue. `W` is whoever waits.
#[derive(Debug)]
pub struct Machine<A, W> {
    algorithm: A,
    inflight: usize,
    queues: [VecDeque<Waiting<W>>; 4],
}

impl<A: Algorithm, W> Machine<A, W> {
    pub fn new(algorithm: A) -> Self {
        Self { algorithm, inflight: 0, queues: Default::default() }
    }

    /// A request arrives; `waiter` is called only if it must wait.
    pub fn arrive(&mut self, now: Time, asked: Asked, waiter: impl FnOnce() -> W) -> Arrival {
        let load = self.load();
        if !self.algorithm.arrive(now, &asked, load) {
            return Arrival::Refused;
        }
        if load.waiting > 0 || self.inflight >= self.algorithm.slots() {
            self.queue_of(asked).push_back(Waiting { asked, since: now, waiter: waiter() });
            return Arrival::Queued;
        }
        if !self.algorithm.dequeue(now, &asked, Duration::ZERO) {
            return Arrival::Refused;
        }
        self.inflight += 1;
        Arrival::Admitted
    }

    /// A handler that ran since `started` has ended. Ask [`Machine::next`] after it.
    pub fn complete(&mut self, now: Time, asked: &Asked, started: Time) {
        let load = self.load();
        self.inflight = self.inflight.saturating_sub(1);
        self.algorithm.complete(now, asked, now - started, load);
    }

    /// One that waits and whose time has come; ask until `None`.
    pub fn next(&mut self, now: Time) -> Option<Next<W>> {
        if self.inflight >= self.algorithm.slots() {
            return None;
        }
        let first = self.queues.iter_mut().find_map(VecDeque::pop_front)?;
        if !self.algorithm.dequeue(now, &first.asked, now - first.since) {
            return Some(Next::Refused(first.waiter));
        }
        self.inflight += 1;
        Some(Next::Admitted(first.waiter, first.asked))
    }

    pub fn load(&self) -> Load {
        Load { inflight: self.inflight, waiting: self.queues.iter().map(VecDeque::len).sum() }
    }

    fn queue_of(&mut self, asked: Asked) -> &mut VecDeque<Waiting<W>> {
        let index = match self.algorithm.order() {
            Order::Arrival => 0,
            Order::Level => asked.level.index(),
        };
        &mut self.queues[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::of;

    #[derive(Debug)]
    struct Fixed(usize, Order);

    impl Algorithm for Fixed {
        fn slots(&self) -> usize {
            self.0
        }

        fn order(&self) -> Order {
            self.1
        }

        fn dequeue(&mut self, _now: Time, _asked: &Asked, wait: Duration) -> bool {
            wait < Duration::from_millis(50)
        }
    }

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn requests_beyond_the_slots_wait_and_are_served_in_order_of_arrival() {
        let mut machine = Machine::new(Fixed(1, Order::Arrival));
        assert_eq!(machine.arrive(at(0), of(4), || "first"), Arrival::Admitted);
        assert_eq!(machine.arrive(at(1), of(4), || "second"), Arrival::Queued);
        assert_eq!(machine.arrive(at(2), of(1), || "third"), Arrival::Queued);
        assert_eq!(machine.next(at(3)), None);
        machine.complete(at(4), &of(4), at(0));
        assert_eq!(machine.next(at(4)), Some(Next::Admitted("second", of(4))));
        assert_eq!(machine.next(at(4)), None);
        assert_eq!(machine.load(), Load { inflight: 1, waiting: 1 });
    }

    #[test]
    fn by_level_the_most_critical_is_served_first() {
        let mut machine = Machine::new(Fixed(1, Order::Level));
        assert_eq!(machine.arrive(at(0), of(4), || 0), Arrival::Admitted);
        for (waiter, level) in [(1, 4), (2, 3), (3, 2), (4, 2)] {
            assert_eq!(machine.arrive(at(1), of(level), || waiter), Arrival::Queued);
        }
        let mut served = Vec::new();
        for _ in 0..4 {
            machine.complete(at(2), &of(4), at(0));
            if let Some(Next::Admitted(waiter, _)) = machine.next(at(2)) {
                served.push(waiter);
            }
        }
        assert_eq!(served, [3, 4, 2, 1]);
    }

    #[test]
    fn one_that_is_refused_at_the_head_takes_no_slot() {
        let mut machine = Machine::new(Fixed(1, Order::Arrival));
        assert_eq!(machine.arrive(at(0), of(4), || "runs"), Arrival::Admitted);
        assert_eq!(machine.arrive(at(0), of(4), || "late"), Arrival::Queued);
        assert_eq!(machine.arrive(at(40), of(4), || "in time"), Arrival::Queued);
        machine.complete(at(60), &of(4), at(0));
        assert_eq!(machine.next(at(60)), Some(Next::Refused("late")));
        assert_eq!(machine.next(at(60)), Some(Next::Admitted("in time", of(4))));
    }
}
