//! Resources beside the queue that can run out: CPU, memory, the event loop, and
//! what the application brings. Each can only bring shedding forward.

mod cgroup;
mod cpu;
mod lag;
mod memory;

use std::fmt::Debug;
use std::time::Duration;

use plimsoll_shedding::signal::SignalKind;

pub use cpu::CpuSignal;
pub use lag::LagSignal;
pub use memory::MemorySignal;

/// A resource that is measured now and then.
///
/// ```
/// use std::time::Duration;
/// use plimsoll_qalm::signals::{ResourceSignal, Tick};
/// use plimsoll_qalm::shedding::signal::SignalKind;
///
/// /// How far behind a replica is, against the second that is bearable.
/// #[derive(Debug)]
/// struct ReplicaLag(std::sync::Arc<std::sync::atomic::AtomicU64>);
///
/// impl ResourceSignal for ReplicaLag {
///     fn kind(&self) -> SignalKind { SignalKind::Custom }
///     fn measure(&mut self, _: Tick) -> Option<f64> {
///         Some(self.0.load(std::sync::atomic::Ordering::Relaxed) as f64 / 1000.0)
///     }
/// }
/// ```
pub trait ResourceSignal: Debug + Send + 'static {
    /// What it measures: the reason that callers are told.
    fn kind(&self) -> SignalKind;

    /// How often it is measured, at least a millisecond.
    fn period(&self) -> Duration {
        Duration::from_millis(250)
    }

    /// How far the resource is used up: 0 idle, 1 the point from which shedding
    /// is wanted. Must not block. `None`: cannot be told here, now.
    fn measure(&mut self, tick: Tick) -> Option<f64>;
}

/// What a measurement gets from its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// How much later than it should this runs: the event loop was busy.
    pub late: Duration,
}
