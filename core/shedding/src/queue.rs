//! One isolation group: its places, those that wait, and what it has measured.

mod lining;
mod placing;
mod rolling;

use std::time::Duration;

use crate::demand::Demand;
use crate::detector::{Detector, SLOTS};
use crate::handling::Handling;
use crate::lag::Lag;
use crate::lane::Lane;
use crate::limiter::{Bounds, Limiter};
use crate::overload::{Overload, Tuning};
use crate::service_rate::ServiceRate;
use crate::settings::{Auto, QueueSettings};
use crate::shares::Shares;
use crate::state::State;
use crate::time::Time;
use rolling::tuning;

/// Below so many arrivals a second, level 3 is not shed.
const LITTLE_TRAFFIC: f64 = 5.0;

/// One queue. What every request writes comes first, in this order: it just fills one
/// line of the cache, which is all that cores have to hand over.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Queue {
    /// Places taken.
    pub(crate) inflight: u32,
    pub(crate) waiting: u32,
    /// When nobody waited for the last time.
    empty_at: Time,
    /// When a place came free for the last time.
    pub(crate) freed_at: Time,
    pub(crate) handling: Handling,
    pub(crate) demand: Demand,
    pub(crate) next_roll: Time,
    pub(crate) detector: Detector,
    pub(crate) settings: QueueSettings,
    pub(crate) limiter: Limiter,
    pub(crate) rate: ServiceRate,
    /// In a dry run with more handlers than places: they also wait for each other.
    pub(crate) crowded: Handling,
    pub(crate) overload: Overload,
    pub(crate) shares: Option<Box<Shares>>,
    pub(crate) lanes: [Lane; 4],
    pub(crate) lag: Lag,
    pub(crate) tuning: Tuning,
    /// Places taken in the reckoning of a dry run.
    pub(crate) ghosts: u32,
    /// Ghosts that wait, and those of them that have already ended.
    pub(crate) ghosts_waiting: u32,
    pub(crate) ghosts_ended: u32,
    /// Handlers that run in a dry run.
    pub(crate) dry_running: u32,
    pub(crate) waiting_bytes: u64,
    pub(crate) frozen_until: Time,
    /// The process has stood still: what arrives may have gathered meanwhile.
    pub(crate) waking_until: Time,
    pub(crate) is_awake: bool,
    /// A typical handling time, or zero.
    pub(crate) typical: Duration,
    /// Seconds by which one more ahead puts off a request.
    pub(crate) per_request: f64,
    /// The standing lag and the window as of the last slot, in seconds.
    lag_seconds: f64,
    window: f64,
    /// When it is worth coming again for one that is refused, before jitter, in
    /// nanoseconds.
    pub(crate) come_again: f64,
    /// Requests that fit into the unit of waits.
    per_unit: u32,
    first_admitted_at: Option<Time>,
    infrastructure_at: Option<Time>,
    reserve: u32,
    lane_bytes: [u64; 4],
    by_caller: Vec<u32>,
}

impl Queue {
    pub(crate) fn new(at: Time, settings: QueueSettings, cores: u32) -> Self {
        let settings = settings.clamped();
        let mut queue = Self {
            settings,
            limiter: Limiter::new(bounds(&settings, cores)),
            rate: ServiceRate::default(),
            handling: Handling::default(),
            crowded: Handling::default(),
            demand: Demand::default(),
            detector: Detector::new(),
            overload: Overload::default(),
            shares: None,
            lanes: std::array::from_fn(|_| Lane::new()),
            lag: Lag::new(),
            tuning: tuning(&settings, None),
            inflight: 0,
            ghosts: 0,
            ghosts_waiting: 0,
            ghosts_ended: 0,
            dry_running: 0,
            waiting: 0,
            empty_at: Time::ZERO,
            waiting_bytes: 0,
            next_roll: at,
            frozen_until: Time::ZERO,
            waking_until: Time::ZERO,
            is_awake: false,
            typical: Duration::ZERO,
            per_request: 0.0,
            lag_seconds: 0.0,
            window: 0.1,
            come_again: 100e6,
            per_unit: 1,
            freed_at: at,
            first_admitted_at: None,
            infrastructure_at: None,
            reserve: 0,
            lane_bytes: [0; 4],
            by_caller: Vec::new(),
        };
        queue.next_roll = at + queue.slot();
        queue
    }

    pub(crate) fn set(&mut self, at: Time, settings: QueueSettings, cores: u32) {
        let settings = settings.clamped();
        self.settings = settings;
        self.limiter.set_bounds(at, bounds(&settings, cores));
        self.tuning = tuning(&settings, self.handling.median());
        if settings.caller_cap.is_none() {
            self.by_caller = Vec::new();
        }
    }

    pub(crate) fn slot(&self) -> Duration {
        self.tuning.interval / SLOTS as u32
    }

    /// The name for what is happening. In a dry run the backlog is in the handlers
    /// once nobody new would be refused: that too is overload.
    pub(crate) fn state(&self, at: Time) -> State {
        let state = self.overload.state(at, self.tuning.interval);
        let is_hidden = self.hidden_wait() > self.tuning.interval;
        if is_hidden { state.max(State::ShedInternal) } else { state }
    }

    /// Too few requests to shed level 3 for.
    pub(crate) fn has_little_traffic(&self) -> bool {
        self.demand.last_second() < LITTLE_TRAFFIC
    }

    /// Whether it needs a timer.
    pub(crate) fn needs_timer(&self) -> bool {
        self.waiting > 0 || self.overload.is_active()
    }
}

fn bounds(settings: &QueueSettings, cores: u32) -> Bounds {
    match settings.concurrency {
        Auto::Fixed(limit) => Bounds { min: limit, max: limit },
        Auto::Auto => {
            let min = settings.min_concurrency.unwrap_or(cores).max(1);
            Bounds { min, max: settings.max_concurrency.max(min) }
        }
    }
}
