//! The future of a request that waits in its queue.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use plimsoll_shedding::verdict::{Refusal, Verdict};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep};

use super::{Gate, Place};

/// Resolves to a place, or to a refusal. Dropping it gives the place in the queue
/// back at once.
#[derive(Debug)]
#[must_use = "a request that nobody waits for is cancelled"]
pub struct Waiting {
    gate: Gate,
    /// `None` once the verdict was fetched.
    key: Option<usize>,
    /// Made when it is first told to wait.
    look: Option<Pin<Box<Sleep>>>,
}

/// How often a request that waits looks itself whether something is due. The gate's
/// timer runs on the runtime of whoever waited first, which may be gone or stand
/// still.
const LOOK: Duration = Duration::from_millis(250);

impl Waiting {
    pub(super) fn new(gate: Gate, key: usize) -> Self {
        Self { gate, key: Some(key), look: None }
    }
}

impl Waiting {
    /// Ready when it has done what was due.
    fn poll_look(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.look.is_none() && Handle::try_current().is_err() {
            return Poll::Pending;
        }
        let look = self.look.get_or_insert_with(|| Box::pin(sleep(LOOK)));
        ready!(look.as_mut().poll(cx));
        look.as_mut().reset(Instant::now() + LOOK);
        self.gate.keep_time();
        Poll::Ready(())
    }
}

impl Future for Waiting {
    type Output = Result<Place, Refusal>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(key) = self.key else { return Poll::Pending };
        let verdict = loop {
            if let Some(verdict) = self.gate.shared.fetch(key, cx.waker()) {
                break verdict;
            }
            ready!(self.poll_look(cx));
        };
        self.key = None;
        Poll::Ready(match verdict {
            Verdict::Admitted(permit) => Ok(Place::new(self.gate.shared, permit)),
            Verdict::Refused(refusal) => Err(refusal),
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.gate.shared.leave(key);
        }
    }
}
