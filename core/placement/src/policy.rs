//! The settings of the planners: names and defaults are the Go Shard Manager's,
//! in snake case.

use std::time::Duration;

/// Which planner a namespace uses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Mode {
    /// Consistent hashing: no load, the way in for a service that comes from it.
    Ring,
    /// One move a cycle, hottest shard of the hottest host to the coldest.
    Naive,
    /// The seed's algorithm: smoothed loads, bands, a budget.
    Greedy,
    /// As even as can be had, with as few moves as that takes.
    #[default]
    Adaptive,
}

/// What a planner is told beside the view.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Policy {
    pub mode: Mode,
    pub naive: Naive,
    pub greedy: Greedy,
    pub adaptive: Adaptive,
}

/// Settings of [`Mode::Naive`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Naive {
    /// Hottest over coldest host below which nothing moves; at least 1.
    pub max_deviation: f64,
}

/// Settings of [`Mode::Greedy`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Greedy {
    /// How long a shard that moved for balance stays.
    pub per_shard_cooldown: Duration,
    /// Time constant of the exponential moving average of loads.
    pub load_smoothing_time_constant: Duration,
    /// The part of all shards that one cycle may move, 0 to 1.
    pub move_budget_proportion: f64,
    /// A host above this times the mean is hot; at least 1.
    pub hysteresis_upper_band: f64,
    /// A host below this times the mean has room; 0 to 1.
    pub hysteresis_lower_band: f64,
    /// From this maximum over mean on, any host may take load if none is below
    /// the lower band; at least 1.
    pub severe_imbalance_ratio: f64,
}

/// Settings of [`Mode::Adaptive`]. How far a host may be from its share before
/// anything moves follows from the noise of its loads; `min_tolerance` and
/// `max_tolerance` are only the ends of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    /// How long a shard that moved for balance stays.
    pub per_shard_cooldown: Duration,
    /// Time constant of the moving average of loads.
    pub load_smoothing_time_constant: Duration,
    /// The part of all shards that one cycle may move, 0 to 1.
    pub move_budget_proportion: f64,
    /// A host this part of its share above it is never hot, however quiet its
    /// loads are; 0 to `max_tolerance`.
    pub min_tolerance: f64,
    /// A host this part of its share above it is always hot, however noisy its
    /// loads are; at most 1.
    pub max_tolerance: f64,
    /// For so long a new executor is given only what has nowhere else to be: in
    /// a rolling restart that is what the next one leaves behind.
    pub newcomer_delay: Duration,
}

impl Policy {
    /// How long a shard that moved for balance stays.
    pub fn per_shard_cooldown(&self) -> Duration {
        match self.mode {
            Mode::Ring | Mode::Naive => Duration::ZERO,
            Mode::Greedy => self.greedy.per_shard_cooldown,
            Mode::Adaptive => self.adaptive.per_shard_cooldown,
        }
    }

    /// Time constant of the moving average of loads.
    pub fn load_smoothing_time_constant(&self) -> Duration {
        match self.mode {
            Mode::Ring | Mode::Naive | Mode::Greedy => self.greedy.load_smoothing_time_constant,
            Mode::Adaptive => self.adaptive.load_smoothing_time_constant,
        }
    }

    /// The part of all shards that one cycle may move, 0 to 1; of no meaning in
    /// modes without a budget.
    pub fn move_budget_proportion(&self) -> f64 {
        match self.mode {
            Mode::Ring | Mode::Naive | Mode::Greedy => self.greedy.move_budget_proportion,
            Mode::Adaptive => self.adaptive.move_budget_proportion,
        }
    }
}

impl Mode {
    /// Every mode there is.
    pub const ALL: [Self; 4] = [Self::Ring, Self::Naive, Self::Greedy, Self::Adaptive];

    /// The name in settings and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Naive => "naive",
            Self::Greedy => "greedy",
            Self::Adaptive => "adaptive",
        }
    }

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

impl Default for Naive {
    fn default() -> Self {
        Self { max_deviation: 2.0 }
    }
}

impl Default for Greedy {
    fn default() -> Self {
        Self {
            per_shard_cooldown: Duration::from_secs(60),
            load_smoothing_time_constant: Duration::from_secs(60),
            move_budget_proportion: 0.01,
            hysteresis_upper_band: 1.15,
            hysteresis_lower_band: 0.90,
            severe_imbalance_ratio: 1.3,
        }
    }
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            per_shard_cooldown: Duration::from_secs(60),
            load_smoothing_time_constant: Duration::from_secs(60),
            move_budget_proportion: 0.01,
            min_tolerance: 0.005,
            max_tolerance: 0.25,
            newcomer_delay: Duration::from_secs(15),
        }
    }
}
