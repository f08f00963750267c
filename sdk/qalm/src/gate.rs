//! The shell around the shedder: one lock, one clock, wakers for those who wait,
//! one timer. It decides nothing.

mod locked;
mod place;
mod shared;
mod timer;
mod waiting;
mod wakers;

use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::Weak;
use std::time::Duration;

use plimsoll_shedding::Time;
use plimsoll_shedding::request::{QueueIndex, Request};
use plimsoll_shedding::settings::{QueueSettings, ServiceSettings};
use plimsoll_shedding::signal::Signal;
use plimsoll_shedding::state::QueueView;
use plimsoll_shedding::verdict::Refusal;

pub use place::Place;
pub use waiting::Waiting;

use shared::{Arrived, Held, Shared};

/// Admits the requests of one service, or refuses them. Clones share everything.
///
/// A process has one or a few: what is behind the last clone of a gate is kept
/// until the process ends. Counting references instead would cost every request
/// two more writes that all cores contend for.
#[derive(Clone, Debug)]
pub struct Gate {
    shared: &'static Shared,
    life: Arc<Life>,
}

/// Ends with the last clone of a gate, and its timer with it.
#[derive(Debug)]
struct Life {
    shared: &'static Shared,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.shared.timer().nudge();
    }
}

/// A gate that does not keep itself alive.
#[cfg(feature = "http")]
#[derive(Clone, Debug)]
pub(crate) struct WeakGate {
    shared: &'static Shared,
    life: Weak<Life>,
}

#[cfg(feature = "http")]
impl WeakGate {
    pub(crate) fn upgrade(&self) -> Option<Gate> {
        self.life.upgrade().map(|life| Gate { shared: self.shared, life })
    }
}

/// What [`Gate::arrive`] says at once.
#[derive(Debug)]
#[must_use = "a place that is dropped is given back as abandoned"]
pub enum Admission {
    /// The handler may start now.
    Admitted(Place),
    /// It waits: the future gives the verdict.
    Queued(Waiting),
    /// Refused, before the handler saw it.
    Refused(Refusal),
}

/// One queue as it is now, with its name.
#[derive(Clone, Debug)]
pub struct QueueStatus {
    pub name: Arc<str>,
    pub view: QueueView,
}

impl Gate {
    #[cfg(feature = "http")]
    pub(crate) fn downgrade(&self) -> WeakGate {
        WeakGate { shared: self.shared, life: Arc::downgrade(&self.life) }
    }

    /// A gate without queues.
    pub fn new(settings: ServiceSettings) -> Self {
        Self::with_seed(settings, seed())
    }

    /// As [`Gate::new`], with a seed of ties and jitter of the caller's choice.
    pub fn with_seed(settings: ServiceSettings, seed: u64) -> Self {
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(settings, seed)));
        Self { shared, life: Arc::new(Life { shared }) }
    }

    /// A new queue. Queues are never removed: the caller bounds their number.
    pub fn add_queue(&self, name: &str, settings: QueueSettings) -> QueueIndex {
        self.shared.add_queue(name, settings)
    }

    /// Changes the settings of a queue; requests in it stay.
    pub fn set_queue(&self, queue: QueueIndex, settings: QueueSettings) {
        self.shared.tell(|shedder, now| shedder.set_queue(now, queue, settings));
    }

    /// Changes the settings of the service.
    pub fn set_service(&self, settings: ServiceSettings) {
        self.shared.tell(|shedder, now| shedder.set_service(now, settings));
    }

    /// The time on this gate's clock, for deadlines.
    pub fn now(&self) -> Time {
        self.shared.now()
    }

    /// A deadline that far ahead.
    pub fn deadline_in(&self, remaining: Duration) -> Time {
        self.now() + remaining
    }

    /// A request has arrived. If it has to wait, this must have been called within
    /// a tokio runtime, which runs the timer.
    #[inline]
    pub fn arrive(&self, request: &Request) -> Admission {
        match self.shared.arrive_calmly(request) {
            Ok(permit) => Admission::Admitted(Place::new(self.shared, permit)),
            Err(held) => self.arrive_watched(held, request),
        }
    }

    #[inline(never)]
    fn arrive_watched(&self, held: Held<'_>, request: &Request) -> Admission {
        match self.shared.arrive(held, request) {
            Arrived::Admitted(permit) => Admission::Admitted(Place::new(self.shared, permit)),
            Arrived::Queued(key) => Admission::Queued(self.wait(key)),
            Arrived::Refused(refusal) => Admission::Refused(refusal),
        }
    }

    #[cold]
    fn wait(&self, key: usize) -> Waiting {
        self.shared.timer().ensure(self.shared, &self.life);
        Waiting::new(self.clone(), key)
    }

    /// Does what is due, and has a timer again if its runtime is gone.
    fn keep_time(&self) {
        self.shared.timer().ensure(self.shared, &self.life);
        self.shared.time_out();
    }

    /// Waits until the request is admitted or refused. Dropping the future gives
    /// the place in the queue back at once.
    ///
    /// # Errors
    /// The refusal, with its reason and when to come again.
    pub async fn admit(&self, request: Request) -> Result<Place, Refusal> {
        match self.arrive(&request) {
            Admission::Admitted(place) => Ok(place),
            Admission::Queued(waiting) => waiting.await,
            Admission::Refused(refusal) => Err(refusal),
        }
    }

    /// A resource has been measured: it can bring shedding forward.
    pub fn signal(&self, signal: Signal) {
        self.shared.tell(|shedder, now| shedder.signal(now, signal));
    }

    /// Somebody calls again within that long, unless the process stands still.
    #[cfg(feature = "http")]
    pub(crate) fn expect_call(&self, within: Duration) {
        self.shared.tell(|shedder, now| shedder.expect_call(now, within));
    }

    /// From now on nobody is admitted, and those who wait are refused. Handlers
    /// that run go on.
    pub fn shut_down(&self) {
        self.shared.tell(|shedder, now| shedder.shut_down(now));
    }

    /// One queue as it is now; `None`: there is no such queue.
    pub fn queue(&self, queue: QueueIndex) -> Option<QueueStatus> {
        self.shared.status(queue)
    }

    /// Every queue as it is now, in the order in which they were added.
    pub fn queues(&self) -> Vec<QueueStatus> {
        (0..).map_while(|index| self.queue(QueueIndex(index))).collect()
    }
}

/// Different in every process, so that restarts together do not jitter together.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
