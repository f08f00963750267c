//! The shell around a [`Machine`]: a lock, a clock and wakers.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use parking_lot::Mutex;
use plimsoll_shedding::Time;
use tokio::sync::oneshot;

use crate::admission::{Admission, Admitting, Guard, Rejected};
use crate::asked::Asked;
use crate::machine::{Algorithm, Arrival, Machine, Next};

type Answer = Result<Guard, Rejected>;

/// An algorithm that waits and wakes.
pub struct Pool<A: Algorithm>(Arc<Shared<A>>);

struct Shared<A: Algorithm> {
    origin: Instant,
    machine: Mutex<Machine<A, oneshot::Sender<Answer>>>,
}

impl<A: Algorithm> Pool<A> {
    pub fn new(algorithm: A) -> Self {
        let machine = Mutex::new(Machine::new(algorithm));
        Self(Arc::new(Shared { origin: Instant::now(), machine }))
    }
}

impl<A: Algorithm> Shared<A> {
    fn now(&self) -> Time {
        let nanos = self.origin.elapsed().as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn guard(self: &Arc<Self>, asked: Asked, started: Time) -> Guard {
        let shared = self.clone();
        Guard::new(move || shared.release(&asked, started))
    }

    fn release(self: &Arc<Self>, asked: &Asked, started: Time) {
        let now = self.now();
        self.machine.lock().complete(now, asked, started);
        self.wake(now);
    }

    /// Outside the lock: a waiter that is gone gives its guard back, which comes
    /// here again.
    fn wake(self: &Arc<Self>, now: Time) {
        loop {
            let next = self.machine.lock().next(now);
            let (waiter, answer) = match next {
                None => return,
                Some(Next::Refused(waiter)) => (waiter, Err(Rejected::Shed)),
                Some(Next::Admitted(waiter, asked)) => (waiter, Ok(self.guard(asked, now))),
            };
            drop(waiter.send(answer));
        }
    }

    fn arrive(self: &Arc<Self>, asked: Asked) -> Result<Answer, oneshot::Receiver<Answer>> {
        let (sender, receiver) = oneshot::channel();
        let mut machine = self.machine.lock();
        let now = self.now();
        match machine.arrive(now, asked, || sender) {
            Arrival::Queued => Err(receiver),
            Arrival::Refused => Ok(Err(Rejected::Shed)),
            Arrival::Admitted => Ok(Ok(self.guard(asked, now))),
        }
    }
}

impl<A: Algorithm> Admission for Pool<A> {
    fn admit(&self, asked: Asked) -> Admitting {
        // At once and not when first polled: the time between is queue wait.
        match self.0.arrive(asked) {
            Ok(answer) => Box::pin(ready(answer)),
            Err(waiting) => Box::pin(waiting.map(|it| it.unwrap_or(Err(Rejected::Shed)))),
        }
    }
}

impl<A: Algorithm> fmt::Debug for Pool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.machine.lock().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::of;
    use crate::none::None as Unprotected;
    use crate::slough::PriorityCodel;

    #[tokio::test]
    async fn a_place_that_is_given_back_goes_to_the_next() {
        let pool = Pool::new(PriorityCodel::new(1));
        let first = pool.admit(of(2)).await.unwrap();
        let mut second = pool.admit(of(2));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn one_that_gives_up_holds_nobody_up() {
        let pool = Pool::new(PriorityCodel::new(1));
        let first = pool.admit(of(2)).await.unwrap();
        let (mut gone, mut stays) = (pool.admit(of(2)), pool.admit(of(2)));
        assert!(gone.as_mut().now_or_never().is_none());
        assert!(stays.as_mut().now_or_never().is_none());
        drop(gone);
        drop(first);
        assert!(stays.now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn without_protection_everybody_is_admitted() {
        let pool = Pool::new(Unprotected);
        let mut guards = Vec::new();
        for _ in 0..1000 {
            guards.push(pool.admit(of(4)).await.unwrap());
        }
        assert_eq!(guards.len(), 1000);
    }
}
