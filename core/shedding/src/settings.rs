//! The settings of a service and of a queue: what may be said, and the defaults
//! that need nothing to be said.

use std::time::Duration;

/// Whether verdicts are carried out.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Enforcement {
    #[default]
    Enforce,
    /// Everything is admitted; what would have been refused is counted.
    DryRun,
    /// Admitted, and not looked at.
    Off,
}

impl Enforcement {
    /// As in a policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::DryRun => "dry-run",
            Self::Off => "off",
        }
    }
}

/// A figure that is given, or found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Auto<T> {
    #[default]
    Auto,
    Fixed(T),
}

/// Settings of one queue. The defaults protect. Figures out of their range count
/// as the nearest that is in it; spans as an hour at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSettings {
    /// The queue wait above which, when no request waits less, the queue is
    /// overloaded. `Auto`: half the median handling time, 5 to 20 ms.
    pub target: Auto<Duration>,
    /// The window of the detector. `Auto`: ten times the median handling time,
    /// 100 ms to 1 s. At least five times the target, at most a minute.
    pub interval: Auto<Duration>,
    /// Handlers at once. `Auto`: found between `min_concurrency` and
    /// `max_concurrency`.
    pub concurrency: Auto<u32>,
    /// At least 1. `None`: the number of cores.
    pub min_concurrency: Option<u32>,
    /// At least `min_concurrency`.
    pub max_concurrency: u32,
    /// Waiting requests at most, at least 1.
    pub max_queue: u32,
    /// Bytes held by waiting requests at most.
    pub max_queue_bytes: u64,
    /// Places that only level 1 may take, as a part of the limit, 0 to 0.5, rounded
    /// down to whole places; kept for a second after the last request of level 1.
    pub reserve: f64,
    /// From this wait of the oldest on, level 2 is served newest first if critical
    /// requests alone are too many.
    pub newest_first_after: Duration,
    /// What a critical request without a deadline waits at most while critical
    /// requests alone are too many.
    pub critical_patience: Duration,
    /// Places and waiting requests of one caller at most, in levels 3 and 4.
    /// `None`: no cap; shares within a level are even all the same.
    pub caller_cap: Option<u32>,
    /// Levels 1 and 2 are never expired nor refused short of the bound: the
    /// literal seed, which collapses when critical traffic alone is too much.
    pub never_drop_critical: bool,
}

/// No span of a queue's settings counts as more than this.
const LONGEST: Duration = Duration::from_secs(3600);
/// No window or target counts as more than this.
const LONGEST_WINDOW: Duration = Duration::from_secs(60);
/// No limit counts as more than this.
const MOST_PLACES: u32 = 1_000_000;

impl QueueSettings {
    /// The nearest settings to work with: whatever is said, nothing overflows.
    pub(crate) fn clamped(self) -> Self {
        Self {
            target: self.target.map(|it| it.clamp(Duration::from_micros(1), LONGEST_WINDOW / 5)),
            interval: self.interval.map(|it| it.min(LONGEST_WINDOW)),
            concurrency: self.concurrency.map(|it| it.clamp(1, MOST_PLACES)),
            min_concurrency: self.min_concurrency.map(|it| it.clamp(1, MOST_PLACES)),
            max_concurrency: self.max_concurrency.clamp(1, MOST_PLACES),
            max_queue: self.max_queue.max(1),
            reserve: if self.reserve > 0.0 { self.reserve.min(0.5) } else { 0.0 },
            newest_first_after: self.newest_first_after.min(LONGEST),
            critical_patience: self.critical_patience.min(LONGEST),
            ..self
        }
    }
}

impl<T> Auto<T> {
    fn map(self, change: impl FnOnce(T) -> T) -> Self {
        match self {
            Self::Auto => Self::Auto,
            Self::Fixed(figure) => Self::Fixed(change(figure)),
        }
    }
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            target: Auto::Auto,
            interval: Auto::Auto,
            concurrency: Auto::Auto,
            min_concurrency: None,
            max_concurrency: 1000,
            max_queue: 10_000,
            max_queue_bytes: 64 << 20,
            reserve: 0.05,
            newest_first_after: Duration::from_millis(100),
            critical_patience: Duration::from_millis(300),
            caller_cap: None,
            never_drop_critical: false,
        }
    }
}

/// Settings of a service as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceSettings {
    /// Handlers at once over all queues. `Auto`: found.
    pub concurrency: Auto<u32>,
    /// Cores that the service may use: the floor of limits that are found.
    pub cores: u32,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self { concurrency: Auto::Auto, cores: 1 }
    }
}
