//! Says once that the service has become unreachable, and once that it answers
//! again: a line a failed request would bury both.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Alarm {
    upstream: String,
    raised: AtomicBool,
}

impl Alarm {
    pub(super) fn new(upstream: &str) -> Self {
        Self { upstream: upstream.to_owned(), raised: AtomicBool::new(false) }
    }

    /// The service has answered.
    pub(super) fn answered(&self) {
        if self.raised.load(Ordering::Relaxed) && self.raised.swap(false, Ordering::Relaxed) {
            tracing::info!(upstream = self.upstream, "the service answers again");
        }
    }

    /// It has not, or a client broke off, which is no fault of the service.
    pub(super) fn failed(&self, failure: Failure, why: &str) {
        if failure.is_upstream() && !self.raised.swap(true, Ordering::Relaxed) {
            tracing::warn!(upstream = self.upstream, reason = failure.word(), why, "{failure}");
        } else {
            tracing::debug!(upstream = self.upstream, reason = failure.word(), why, "{failure}");
        }
    }
}
