//! The future of a request that waits in its queue.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use plimsoll_shedding::verdict::{Refusal, Verdict};

use super::{Gate, Place};

/// Resolves to a place, or to a refusal. Dropping it gives the place in the queue
/// back at once.
#[derive(Debug)]
#[must_use = "a request that nobody waits for is cancelled"]
pub struct Waiting {
    gate: Gate,
    /// `None` once the verdict was fetched.
    key: Option<usize>,
}

impl Waiting {
    pub(super) fn new(gate: Gate, key: usize) -> Self {
        Self { gate, key: Some(key) }
    }
}

impl Future for Waiting {
    type Output = Result<Place, Refusal>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(key) = self.key else { return Poll::Pending };
        let Some(verdict) = self.gate.shared.fetch(key, cx.waker()) else { return Poll::Pending };
        self.key = None;
        Poll::Ready(match verdict {
            Verdict::Admitted(permit) => Ok(Place::after_wait(self.gate.shared, permit)),
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
