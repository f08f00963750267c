//! The settings of a queue as a policy gives them: only what it says.

use std::time::Duration;

use super::error::Problem;
use crate::settings::{Auto, QueueSettings};

/// What a policy says of a queue; `None`: as before. See [`QueueSettings`] for
/// meanings and ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueOverrides {
    pub target: Option<Auto<Duration>>,
    pub interval: Option<Auto<Duration>>,
    pub concurrency: Option<Auto<u32>>,
    pub min_concurrency: Option<u32>,
    pub max_concurrency: Option<u32>,
    pub max_queue: Option<u32>,
    pub max_queue_bytes: Option<u64>,
    pub reserve: Option<f64>,
    pub newest_first_after: Option<Duration>,
    pub critical_patience: Option<Duration>,
    pub caller_cap: Option<u32>,
    pub never_drop_critical: Option<bool>,
}

impl QueueOverrides {
    /// The settings with what this says put over them.
    pub fn over(&self, base: QueueSettings) -> QueueSettings {
        QueueSettings {
            target: self.target.unwrap_or(base.target),
            interval: self.interval.unwrap_or(base.interval),
            concurrency: self.concurrency.unwrap_or(base.concurrency),
            min_concurrency: self.min_concurrency.or(base.min_concurrency),
            max_concurrency: self.max_concurrency.unwrap_or(base.max_concurrency),
            max_queue: self.max_queue.unwrap_or(base.max_queue),
            max_queue_bytes: self.max_queue_bytes.unwrap_or(base.max_queue_bytes),
            reserve: self.reserve.unwrap_or(base.reserve),
            newest_first_after: self.newest_first_after.unwrap_or(base.newest_first_after),
            critical_patience: self.critical_patience.unwrap_or(base.critical_patience),
            caller_cap: self.caller_cap.or(base.caller_cap),
            never_drop_critical: self.never_drop_critical.unwrap_or(base.never_drop_critical),
        }
    }
}

/// The longest wait or window that a policy may ask for.
const MAX_SPAN: Duration = Duration::from_secs(60);
/// The greatest number of handlers or waiting requests.
const MAX_COUNT: u32 = 1_000_000;

/// Refuses settings that make no sense.
pub(super) fn check(it: &QueueSettings) -> Result<(), Problem> {
    let span = |span: Duration| !span.is_zero() && span <= MAX_SPAN;
    let count = |count: u32| (1..=MAX_COUNT).contains(&count);
    let auto_span = |it: Auto<Duration>| fixed(it).is_none_or(span);
    let room = match (fixed(it.target), fixed(it.interval)) {
        (Some(target), Some(interval)) => interval >= target * 5,
        _ => true,
    };
    let bounds = it.min_concurrency.is_none_or(|min| min <= it.max_concurrency);
    let checks = [
        (auto_span(it.target), "target", "is above 0 and at most 60s"),
        (auto_span(it.interval), "interval", "is above 0 and at most 60s"),
        (room, "interval", "is at least five times the target, or the queue fills unseen"),
        (fixed(it.concurrency).is_none_or(count), "concurrency", "is 1 to 1000000, or \"auto\""),
        (it.min_concurrency.is_none_or(count), "min_concurrency", "is 1 to 1000000"),
        (count(it.max_concurrency), "max_concurrency", "is 1 to 1000000"),
        (bounds, "min_concurrency", "is not above max_concurrency"),
        (count(it.max_queue), "max_queue", "is 1 to 1000000"),
        (it.max_queue_bytes > 0, "max_queue_bytes", "is above 0"),
        ((0.0..=0.5).contains(&it.reserve), "reserve", "is 0 to 0.5"),
        (span(it.newest_first_after), "newest_first_after", "is above 0 and at most 60s"),
        (span(it.critical_patience), "critical_patience", "is above 0 and at most 60s"),
        (it.caller_cap.is_none_or(count), "caller_cap", "is 1 to 1000000"),
    ];
    match checks.into_iter().find(|(holds, ..)| !holds) {
        Some((_, key, reason)) => Err(Problem::Setting { key, reason }),
        None => Ok(()),
    }
}

fn fixed<T>(it: Auto<T>) -> Option<T> {
    match it {
        Auto::Fixed(value) => Some(value),
        Auto::Auto => None,
    }
}
