//! What a queue looks like from outside: for metrics, the debug page and the
//! console.

use std::time::Duration;

use crate::criticality::Criticality;
use crate::signal::SignalKind;

/// How far a queue is overloaded: the state table of the design.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum State {
    /// Everything is admitted, bursts included.
    #[default]
    Normal,
    /// Level 4 is admitted as far as it would not wait.
    ShedInternal,
    /// Level 4 is refused, level 3 admitted as far as it would not wait.
    ShedFeatures,
    /// Only critical requests are admitted.
    Critical,
    /// Critical requests alone are too many, and the bound is reached.
    Full,
}

impl State {
    /// Every state, from no overload to the worst.
    pub const ALL: [Self; 5] =
        [Self::Normal, Self::ShedInternal, Self::ShedFeatures, Self::Critical, Self::Full];

    /// The least critical level that is admitted without conditions.
    pub fn admitted_level(self) -> Criticality {
        match self {
            Self::Normal => Criticality::Internal,
            Self::ShedInternal => Criticality::Feature,
            Self::ShedFeatures | Self::Critical => Criticality::CoreFlow,
            Self::Full => Criticality::Infrastructure,
        }
    }

    /// The word in metrics and on pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::ShedInternal => "shed_internal",
            Self::ShedFeatures => "shed_features",
            Self::Critical => "critical",
            Self::Full => "full",
        }
    }
}

/// One queue at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueView {
    pub state: State,
    /// The least critical level that is admitted without conditions.
    pub admitted_level: Option<Criticality>,
    /// Handlers at once that are allowed.
    pub limit: u32,
    pub inflight: u32,
    /// Waiting, by level.
    pub waiting: [u32; 4],
    pub waiting_bytes: u64,
    /// The smallest wait in the window; zero if nobody waited.
    pub min_wait: Duration,
    pub target: Duration,
    pub interval: Duration,
    /// What a new level-4 request would wait, as predicted.
    pub predicted_wait: Duration,
    /// Handlers that end in a second when every place is taken.
    pub service_rate: f64,
    /// Handling time: windowed percentile that steers the limit, and the value it
    /// is compared with.
    pub handling_time: Duration,
    pub healthy_handling_time: Duration,
    /// The resource that presses now.
    pub pressed_by: Option<SignalKind>,
}
