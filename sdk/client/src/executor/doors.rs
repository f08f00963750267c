//! The door of each shard: requests come in through it, and a shard that moves is
//! stopped only when those inside have gone.
//!
//! A door is there from the moment that a shard is prepared or starts here. It
//! opens when the shard runs and shuts for good when it is to stop; behind a shut
//! door there may be a word on where the shard went.

mod door;
mod forwarding;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use plimsoll_placement::time::Time;

pub(super) use door::Door;
pub(super) use door::Entered;
pub use door::Serving;
use forwarding::Forwarding;

use crate::{NextOwner, NotHere};

#[derive(Debug)]
pub(super) struct Doors {
    doors: RwLock<HashMap<Arc<str>, Arc<Door>>>,
    forwarding: Mutex<Forwarding>,
    /// How many requests wait at doors that are not open yet.
    waiting: AtomicUsize,
    limits: Limits,
}

/// How many requests may wait at doors, and how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) hold_within: Duration,
    pub(super) hold_at_most: usize,
}

impl Doors {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            doors: RwLock::default(),
            forwarding: Mutex::default(),
            waiting: AtomicUsize::new(0),
            limits,
        }
    }

    /// The door of a shard that is to start here, or may be soon.
    pub(super) fn expect(&self, shard: &Arc<str>) -> Arc<Door> {
        self.forwarding.lock().forget(shard);
        Arc::clone(self.doors.write().entry(Arc::clone(shard)).or_default())
    }

    /// The shard runs.
    pub(super) fn open(&self, shard: &str) {
        if let Some(door) = self.doors.read().get(shard) {
            door.open();
        }
    }

    /// Nobody comes in any more. `next` is where the shard went, if that is known.
    pub(super) fn shut(&self, now: Time, shard: &str, next: Option<NextOwner>) {
        let Some((shard, door)) = self.doors.write().remove_entry(shard) else { return };
        if let Some(next) = &next {
            self.forwarding.lock().remember(now, shard, next.clone());
        }
        door.shut(next);
    }

    /// The shard that was expected does not come. One that runs stays as it is.
    pub(super) fn expect_no_more(&self, shard: &str) {
        let mut doors = self.doors.write();
        if doors.get(shard).is_some_and(|door| !door.is_open()) {
            doors.remove(shard).into_iter().for_each(|door| door.shut(None));
        }
    }

    /// Comes in, after waiting for a door that is about to open.
    pub(super) async fn enter(&self, now: Time, shard: &str) -> Result<Entered, NotHere> {
        let door = self.find(now, shard)?;
        if let Some(entered) = door.enter() {
            return Ok(entered);
        }
        let Some(_place) = self.place() else { return Err(not_here(shard, door.next())) };
        let decided = tokio::time::timeout(self.limits.hold_within, door.decided());
        // Late or not: the door says.
        let _ = decided.await;
        door.enter().ok_or_else(|| not_here(shard, door.next()))
    }

    /// Comes in if the door is open.
    pub(super) fn try_enter(&self, now: Time, shard: &str) -> Result<Entered, NotHere> {
        let door = self.find(now, shard)?;
        door.enter().ok_or_else(|| not_here(shard, door.next()))
    }

    /// What there is to say of a shard that is not here.
    pub(super) fn not_here(&self, now: Time, shard: &str) -> NotHere {
        not_here(shard, self.forwarding.lock().find(now, shard))
    }

    fn find(&self, now: Time, shard: &str) -> Result<Arc<Door>, NotHere> {
        let door = self.doors.read().get(shard).cloned();
        door.ok_or_else(|| self.not_here(now, shard))
    }

    fn place(&self) -> Option<Place<'_>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Place(&self.waiting);
        (before < self.limits.hold_at_most).then_some(place)
    }
}

/// Given back by dropping it.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn not_here(shard: &str, next: Option<NextOwner>) -> NotHere {
    NotHere { shard: shard.into(), next }
}
