//! Places whose handler is at its client's mercy: it waits for the request's body,
//! or for its answer to be read. A client that is slow, or means harm, keeps them
//! for a bounded time only; after it the handler goes on as a stream does, without
//! a place.
//!
//! HTTP/2 asks no body for its next frame while the client gives no room for it, so
//! that a body cannot watch its own time: one task looks at all of them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_shedding::verdict::Outcome;
use slab::Slab;

use crate::background::Background;
use crate::handling::Handling;

/// How often they are looked at: what the bounds below are counted in.
const TURN: Duration = Duration::from_millis(50);
/// A handler may wait so long for its request's body, over all: 1 s.
const MAX_WAITING: u32 = 20;
/// An answer may go so long without being asked for its next frame: 250 ms.
const MAX_UNREAD: u32 = 5;
/// An answer may take so long from its head on: 5 s.
const MAX_ANSWERING: u32 = 100;

/// All such places of one layer.
#[derive(Debug, Default)]
pub(super) struct Holds {
    all: Mutex<Slab<Held>>,
    task: Background,
}

/// A place that is watched. Dropping this gives it back as abandoned.
#[derive(Debug)]
pub(super) struct Hold {
    holds: Arc<Holds>,
    /// `None`: it is watched no more.
    key: Option<usize>,
}

#[derive(Debug)]
struct Held {
    /// `None`: it was given back.
    handling: Option<Handling>,
    client: Client,
    /// That count against it: while the handler waits for its request, or since the
    /// head of its answer.
    turns: u32,
}

/// What the client owes.
#[derive(Clone, Copy, Debug)]
enum Client {
    /// Parts of its request; `waits`: the handler has asked for the next.
    Sends { waits: bool },
    /// To read the answer. `unread`: turns since a frame was last asked for; none
    /// while it is the handler that has not given it.
    Reads { unread: Option<u32> },
}

impl Holds {
    /// A handler runs whose request is still being sent.
    pub(super) fn sending(self: &Arc<Self>, handling: Handling) -> Hold {
        self.hold(handling, Client::Sends { waits: false })
    }

    /// The head of the answer is there, its body is not.
    pub(super) fn answering(self: &Arc<Self>, handling: Handling) -> Hold {
        self.hold(handling, Client::Reads { unread: Some(0) })
    }

    fn hold(self: &Arc<Self>, handling: Handling, client: Client) -> Hold {
        let held = Held { handling: Some(handling), client, turns: 0 };
        let key = self.all.lock().insert(held);
        self.task.ensure(|| run(Arc::downgrade(self)));
        Hold { holds: Arc::clone(self), key: Some(key) }
    }

    fn turn(&self) {
        let due: Vec<Handling> = {
            let mut all = self.all.lock();
            all.iter_mut().filter_map(|(_, held)| held.turn()).collect()
        };
        due.into_iter().for_each(|handling| handling.finish(Outcome::Streaming));
    }
}

async fn run(holds: Weak<Holds>) {
    loop {
        tokio::time::sleep(TURN).await;
        let Some(holds) = holds.upgrade() else { break };
        holds.turn();
    }
}

impl Held {
    /// Some time has passed. Returns the handling whose time is up.
    fn turn(&mut self) -> Option<Handling> {
        let is_over = match &mut self.client {
            Client::Sends { waits } => {
                self.turns += u32::from(*waits);
                self.turns >= MAX_WAITING
            }
            Client::Reads { unread } => {
                self.turns += 1;
                if let Some(unread) = unread {
                    *unread += 1;
                }
                self.turns >= MAX_ANSWERING || unread.is_some_and(|it| it >= MAX_UNREAD)
            }
        };
        self.handling.take_if(|_| is_over)
    }
}

impl Hold {
    /// The handler's future is polled.
    pub(super) fn started(&self) {
        self.with(|held| held.handling.as_mut().map(Handling::started));
    }

    /// A body was asked for its next frame, and did or did not have it.
    pub(super) fn asked(&self, is_pending: bool) {
        self.with(|held| match &mut held.client {
            Client::Sends { waits } => *waits = is_pending,
            Client::Reads { unread } => *unread = (!is_pending).then_some(0),
        });
    }

    /// From now on it is watched no more. `None`: its time was up.
    pub(super) fn take(&self) -> Option<Handling> {
        self.with(|held| held.handling.take())
    }

    /// Gives the place back, if its time was not up before.
    pub(super) fn finish(mut self, outcome: Outcome) {
        if let Some(handling) = self.remove() {
            handling.finish(outcome);
        }
    }

    fn with<T: Default>(&self, step: impl FnOnce(&mut Held) -> T) -> T {
        let step = |key| self.holds.all.lock().get_mut(key).map(step);
        self.key.and_then(step).unwrap_or_default()
    }

    fn remove(&mut self) -> Option<Handling> {
        self.holds.all.lock().try_remove(self.key.take()?)?.handling
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        drop(self.remove());
    }
}
