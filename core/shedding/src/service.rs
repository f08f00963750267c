//! What all queues of a service share: places over all of them, of which each
//! busy queue has some for certain.

use std::time::Duration;

use crate::limiter::{Bounds, Limiter};
use crate::settings::{Auto, ServiceSettings};
use crate::time::Time;

/// The part of all places that is guaranteed, in even parts, to the busy queues.
const GUARANTEED: f64 = 0.5;
/// Places over all queues at most, when they are found.
const MOST: u32 = 100_000;

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Places {
    pub(crate) inflight: u32,
    /// Queues of which a handler runs.
    pub(crate) busy_queues: u32,
    /// Requests wait for the service's limit, not for their queue's.
    pub(crate) short: bool,
    pub(crate) limiter: Limiter,
}

impl Places {
    pub(crate) fn new(settings: ServiceSettings) -> Self {
        Self { inflight: 0, busy_queues: 0, short: false, limiter: Limiter::new(bounds(settings)) }
    }

    pub(crate) fn set(&mut self, at: Time, settings: ServiceSettings) {
        self.limiter.set_bounds(at, bounds(settings));
    }

    /// Whether a queue with so many handlers may start another.
    #[inline]
    pub(crate) fn has_place(&self, of_queue: u32) -> bool {
        self.inflight < self.limiter.current() || of_queue < self.guaranteed()
    }

    /// What each busy queue may have however many the others have.
    fn guaranteed(&self) -> u32 {
        let places = f64::from(self.limiter.current()) * GUARANTEED;
        ((places / f64::from(self.busy_queues.max(1))) as u32).max(1)
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, at: Time, of_queue: u32, typical: Duration) {
        self.busy_queues += u32::from(of_queue == 0);
        self.inflight += 1;
        self.limiter.occupied(at, self.inflight, typical);
    }

    #[inline(always)]
    pub(crate) fn free(&mut self, at: Time, of_queue: u32, typical: Duration) {
        self.limiter.departed();
        self.inflight = self.inflight.saturating_sub(1);
        self.busy_queues = self.busy_queues.saturating_sub(u32::from(of_queue == 1));
        self.limiter.occupied(at, self.inflight, typical);
    }
}

fn bounds(settings: ServiceSettings) -> Bounds {
    match settings.concurrency {
        Auto::Fixed(limit) => Bounds { min: limit.max(1), max: limit.max(1) },
        Auto::Auto => Bounds { min: settings.cores.clamp(1, MOST), max: MOST },
    }
}
