//! Limits that Netflix's concurrency-limits finds from response times.

mod gradient2;
mod vegas;
mod windowed;

use std::fmt::Debug;
use std::time::Duration;

use plimsoll_shedding::Time;

pub use gradient2::Gradient2;
pub use vegas::Vegas;
pub use windowed::Windowed;

/// A number of handlers at once that follows how long they take.
pub trait Limit: Debug + Send + 'static {
    fn limit(&self) -> f64;

    /// A handler took `took`; so many were running when it ended.
    fn sample(&mut self, now: Time, took: Duration, inflight: usize);
}
