//! Until when a leader may act: counted by `core/ownership`'s `leadership`, looked at
//! by the driver before it acknowledges anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_placement::time::Time;

/// Shared by whoever counts and whoever obeys.
#[derive(Clone, Debug)]
pub struct Confidence(Arc<AtomicU64>);

impl Confidence {
    /// Of a server that nobody competes with.
    pub fn unlimited() -> Self {
        Self::until(Time::MAX)
    }

    /// It ends then, if it is not extended.
    pub fn until(end: Time) -> Self {
        Self(Arc::new(AtomicU64::new(end.as_nanos())))
    }

    /// When it ends.
    pub fn end(&self) -> Time {
        Time::from_nanos(self.0.load(Ordering::Acquire))
    }

    /// It lasts until then.
    pub fn set(&self, end: Time) {
        self.0.store(end.as_nanos(), Ordering::Release);
    }

    /// It is over.
    pub fn revoke(&self) {
        self.set(Time::ZERO);
    }
}
