//! Ours behind the same interface as the peers: `plimsoll-qalm`'s gate, whole.

use std::future::ready;

use futures::FutureExt;
use plimsoll_peers::admission::{Admitting, End};
use plimsoll_peers::{Admission, Asked, Guard, Rejected};
use plimsoll_qalm::Admission::{Admitted, Queued, Refused};
use plimsoll_qalm::{Gate, Place};
use plimsoll_shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_shedding::settings::{Auto, Enforcement, QueueSettings, ServiceSettings};
use plimsoll_shedding::verdict::{Outcome, Reason, Refusal};

/// A gate with one queue an endpoint.
#[derive(Debug)]
pub struct Ours {
    gate: Gate,
    queues: Vec<QueueIndex>,
}

impl Ours {
    /// `concurrency`: the handlers at once of each queue, or found.
    pub fn new(endpoints: u32, concurrency: Auto<u32>, seed: u64) -> Self {
        let gate = Gate::with_seed(ServiceSettings::default(), seed);
        let settings = QueueSettings { concurrency, ..QueueSettings::default() };
        let queue = |n: u32| gate.add_queue(&format!("endpoint-{n}"), settings);
        let queues = (0..endpoints.max(1)).map(queue).collect();
        Self { gate, queues }
    }

    fn request(&self, asked: Asked) -> Request {
        let queue = self.queues.get(asked.endpoint as usize).or(self.queues.first());
        Request {
            // There is always at least one queue.
            queue: queue.copied().unwrap_or(QueueIndex(0)),
            level: asked.level,
            cohort: asked.cohort,
            caller: CallerIndex(asked.caller),
            deadline: asked.patience.map(|patience| self.gate.deadline_in(patience)),
            bytes: 256,
            enforcement: Enforcement::Enforce,
        }
    }
}

impl Admission for Ours {
    fn admit(&self, asked: Asked) -> Admitting {
        // At once and not when first polled: the time between is queue wait.
        match self.gate.arrive(&self.request(asked)) {
            Admitted(place) => Box::pin(ready(Ok(guard(place)))),
            Refused(refusal) => Box::pin(ready(Err(rejected(refusal)))),
            Queued(waiting) => Box::pin(waiting.map(|it| it.map(guard).map_err(rejected))),
        }
    }
}

fn guard(place: Place) -> Guard {
    Guard::telling(move |end| {
        place.finish(match end {
            End::Answered => Outcome::Answered,
            End::Streaming => Outcome::Streaming,
            End::Abandoned => Outcome::Abandoned,
        });
    })
}

fn rejected(refusal: Refusal) -> Rejected {
    if refusal.reason == Reason::Expired { Rejected::Expired } else { Rejected::Shed }
}
