//! One door: a state and a count in one word, so that nobody slips in behind a
//! door that has just been shut.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::NextOwner;

const OPEN: u64 = 1 << 63;
const SHUT: u64 = 1 << 62;
const INSIDE: u64 = SHUT - 1;

/// Neither open nor shut at first; once shut it stays so.
#[derive(Debug, Default)]
pub(in crate::executor) struct Door {
    state: AtomicU64,
    /// It was opened or shut.
    decided: Notify,
    /// It is shut, and the last has gone.
    empty: Notify,
    next: OnceLock<NextOwner>,
    /// Those inside have no right to be there any more.
    lost: CancellationToken,
}

/// Somebody inside.
#[derive(Debug)]
pub(in crate::executor) struct Entered(Arc<Door>);

/// The right to serve one request for a shard: the shard is not handed over before
/// this is dropped, unless the lease ends or the drain takes too long.
#[derive(Debug)]
pub struct Serving {
    entered: Entered,
    generation: u64,
}

impl Door {
    pub(in crate::executor) fn open(&self) {
        self.state.fetch_or(OPEN, Ordering::AcqRel);
        self.decided.notify_waiters();
    }

    pub(in crate::executor) fn shut(&self, next: Option<NextOwner>) {
        if let Some(next) = next {
            // A door that was shut before keeps what it was told then.
            let _ = self.next.set(next);
        }
        self.state.fetch_or(SHUT, Ordering::AcqRel);
        self.decided.notify_waiters();
    }

    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) & (OPEN | SHUT) == OPEN
    }

    /// Where the shard went.
    pub(super) fn next(&self) -> Option<NextOwner> {
        self.next.get().cloned()
    }

    pub(super) fn enter(self: &Arc<Self>) -> Option<Entered> {
        let before = self.state.fetch_add(1, Ordering::AcqRel);
        let entered = Entered(Arc::clone(self));
        (before & (OPEN | SHUT) == OPEN).then_some(entered)
    }

    /// Waits until it is open or shut.
    pub(super) async fn decided(&self) {
        let decided = self.decided.notified();
        tokio::pin!(decided);
        decided.as_mut().enable();
        if self.state.load(Ordering::Acquire) & (OPEN | SHUT) == 0 {
            decided.await;
        }
    }

    /// Waits until the last has gone; it must be shut.
    pub(in crate::executor) async fn emptied(&self) {
        loop {
            let empty = self.empty.notified();
            tokio::pin!(empty);
            empty.as_mut().enable();
            if self.state.load(Ordering::Acquire) & INSIDE == 0 {
                return;
            }
            empty.await;
        }
    }

    /// How many are inside.
    pub(in crate::executor) fn inside(&self) -> u64 {
        self.state.load(Ordering::Acquire) & INSIDE
    }

    /// Waits until those inside have no right to be there any more.
    pub(in crate::executor) async fn evicted(&self) {
        self.lost.cancelled().await;
    }

    /// Tells those inside that they have no right to be there any more.
    pub(in crate::executor) fn evict(&self) {
        self.lost.cancel();
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.0.state.fetch_sub(1, Ordering::AcqRel);
        if before & SHUT != 0 && before & INSIDE == 1 {
            self.0.empty.notify_waiters();
        }
    }
}

impl Serving {
    pub(in crate::executor) fn new(entered: Entered, generation: u64) -> Self {
        Self { entered, generation }
    }

    /// The fencing token of the grant, to use with what is done for the request.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Resolves if the shard is taken away all the same: the lease has ended, or
    /// the request has delayed a handover for as long as the builder's
    /// `drain_within` allows. From then on another executor may run the shard.
    pub async fn lost(&self) {
        self.entered.0.evicted().await;
    }

    /// Whether [`lost`](Self::lost) has resolved.
    pub fn is_lost(&self) -> bool {
        self.entered.0.lost.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn nobody_enters_before_it_is_open_or_after_it_was_shut() {
        let door = Arc::new(Door::default());
        assert!(door.enter().is_none());
        door.open();
        let inside = door.enter().unwrap();
        door.shut(None);
        assert!(door.enter().is_none());
        assert_eq!(door.inside(), 1);
        drop(inside);
        assert_eq!(door.inside(), 0);
    }

    #[test]
    fn it_is_empty_when_the_last_has_gone() {
        let door = Arc::new(Door::default());
        door.open();
        let inside = [door.enter(), door.enter()];
        door.shut(None);
        let mut emptied = Box::pin(door.emptied());
        for one in inside {
            assert!((&mut emptied).now_or_never().is_none());
            drop(one);
        }
        assert!(emptied.now_or_never().is_some());
    }

    #[test]
    fn a_door_that_was_shut_stays_shut() {
        let door = Arc::new(Door::default());
        door.shut(None);
        door.open();
        assert!(door.enter().is_none());
        assert!(door.decided().now_or_never().is_some());
    }
}
