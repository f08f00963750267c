//! One isolation group: its places, those that wait, and what it has measured.

mod rolling;

use std::time::Duration;

use crate::criticality::Criticality;
use crate::demand::Demand;
use crate::detector::{Detector, SLOTS};
use crate::handling::Handling;
use crate::lag::Lag;
use crate::lane::Lane;
use crate::limiter::{Bounds, Limiter};
use crate::overload::{Growth, Overload, Tuning};
use crate::service_rate::ServiceRate;
use crate::settings::{Auto, QueueSettings};
use crate::shares::{Shares, Standing};
use crate::state::State;
use crate::time::Time;
use crate::waiting::{Waiter, WaitingRoom};
use rolling::{tuning, work};

/// Below so many arrivals a second, level 3 is not shed.
const LITTLE_TRAFFIC: f64 = 5.0;
/// Windows, and typical handling times, without an end after which handlers hang.
const HANG_WINDOWS: u32 = 10;
const HANG_HANDLINGS: u32 = 8;
/// Callers whose places are counted apart for a cap; beyond, some share a count.
const CAPPED_CALLERS: usize = 4096;

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) settings: QueueSettings,
    pub(crate) limiter: Limiter,
    pub(crate) rate: ServiceRate,
    pub(crate) handling: Handling,
    /// In a dry run with more handlers than places: they also wait for each other.
    pub(crate) crowded: Handling,
    pub(crate) demand: Demand,
    pub(crate) detector: Detector,
    pub(crate) overload: Overload,
    pub(crate) shares: Option<Box<Shares>>,
    pub(crate) lanes: [Lane; 4],
    pub(crate) lag: Lag,
    pub(crate) tuning: Tuning,
    /// Places taken.
    pub(crate) inflight: u32,
    /// Places taken in the reckoning of a dry run.
    pub(crate) ghosts: u32,
    /// Ghosts that wait, and those of them that have already ended.
    pub(crate) ghosts_waiting: u32,
    pub(crate) ghosts_ended: u32,
    /// Handlers that run in a dry run.
    pub(crate) dry_running: u32,
    pub(crate) waiting: u32,
    pub(crate) waiting_bytes: u64,
    pub(crate) next_roll: Time,
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
    /// When a place came free for the last time.
    pub(crate) freed_at: Time,
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

    /// Whether a request of that level could start if the service has room.
    #[inline]
    pub(crate) fn has_place(&self, level: Criticality) -> bool {
        let reserve = if level == Criticality::Infrastructure { 0 } else { self.reserve };
        self.inflight + reserve < self.limiter.current()
    }

    /// Whether a request of that level is admitted without further thought.
    #[inline]
    pub(crate) fn is_calm(&self, level: Criticality) -> bool {
        self.waiting == 0
            && self.has_place(level)
            && !self.overload.is_active()
            && self.settings.caller_cap.is_none()
    }

    /// Whether a place that comes free is nobody's, and counted for no caller.
    #[inline]
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.waiting == 0 && self.settings.caller_cap.is_none()
    }

    /// How many wait that would be served before a newcomer of that level.
    pub(crate) fn ahead(&self, level: Criticality) -> u32 {
        self.lanes[..=level.index()].iter().map(Lane::len).sum()
    }

    /// The wait of a newcomer of that level, if it is not overtaken.
    pub(crate) fn predicted_wait(&self, level: Criticality) -> Duration {
        work(self.ahead(level), self.per_request) + self.lag.standing()
    }

    /// How it has grown, as a newcomer of that level sees it.
    pub(crate) fn growth(&self, at: Time, level: Criticality) -> Growth {
        Growth {
            wait: f64::from(self.ahead(level)) * self.per_request + self.lag_seconds,
            grown_for: at.nanos_since(self.detector.empty_at()) as f64 * 1e-9,
            per_request: self.per_request,
            window: self.window,
        }
    }

    /// What handlers of a dry run wait inside, being more than enforcing would let
    /// run; zero if they are not, or none the slower for it.
    pub(crate) fn hidden_wait(&self) -> Duration {
        match self.crowded.mean() {
            Some(took) if self.is_crowded() => took.saturating_sub(self.typical),
            _ => Duration::ZERO,
        }
    }

    /// Whether more handlers run than enforcing would let run.
    pub(crate) fn is_crowded(&self) -> bool {
        self.dry_running > self.limiter.current()
    }

    /// The name for what is happening. In a dry run the backlog is in the handlers
    /// once nobody new would be refused: that too is overload.
    pub(crate) fn state(&self, at: Time) -> State {
        let state = self.overload.state(at, self.tuning.interval);
        let is_hidden = self.hidden_wait() > self.tuning.interval;
        if is_hidden { state.max(State::ShedInternal) } else { state }
    }

    pub(crate) fn has_waiting(&self, level: Criticality) -> bool {
        self.lanes[level.index()].len() > 0
    }

    /// Entries and bytes that wait and do not make room for that level.
    pub(crate) fn kept_against(&self, level: Criticality) -> (u32, u64) {
        let kept = match level {
            Criticality::Infrastructure => 0,
            _ => level.index(),
        };
        (self.lanes[..=kept].iter().map(Lane::len).sum(), self.lane_bytes[..=kept].iter().sum())
    }

    /// The target, or the time in which chance alone lets arrivals and places
    /// differ by their square root.
    pub(crate) fn unit(&self) -> Duration {
        let places = f64::from(self.limiter.current());
        self.tuning
            .target
            .max(Duration::try_from_secs_f64(places.sqrt() * self.per_request).unwrap_or_default())
    }

    /// How many may be ahead of a request that is let in during an overload.
    pub(crate) fn most_ahead(&self, level: Criticality, standing: Standing) -> u32 {
        Overload::units(level, standing)
            .map_or(u32::MAX, |units| self.per_unit.saturating_mul(units))
    }

    /// Critical requests that wait.
    pub(crate) fn critical(&self) -> u32 {
        self.ahead(Criticality::CoreFlow)
    }

    /// Too few requests to shed level 3 for.
    pub(crate) fn has_little_traffic(&self) -> bool {
        self.demand.last_second() < LITTLE_TRAFFIC
    }

    /// How long the longest waiting request has waited.
    pub(crate) fn oldest_wait(&self, room: &WaitingRoom, at: Time) -> Duration {
        let oldest = self.lanes.iter().filter_map(Lane::oldest);
        oldest.map(|slot| at - room.waiter(slot).since).max().unwrap_or_default()
    }

    fn critical_wait(&self, room: &WaitingRoom, at: Time) -> Duration {
        let oldest = self.lanes[..2].iter().filter_map(Lane::oldest);
        oldest.map(|slot| at - room.waiter(slot).since).max().unwrap_or_default()
    }

    /// A handler starts.
    #[inline]
    pub(crate) fn take_place(&mut self, at: Time, level: Criticality) {
        self.inflight += 1;
        if level == Criticality::Infrastructure {
            self.infrastructure_at = Some(at);
        }
        if self.first_admitted_at.is_none() {
            self.first_admitted_at = Some(at);
        }
    }

    /// Measures with the places and the queue as they are now.
    #[inline(always)]
    pub(crate) fn note_occupancy(&mut self, at: Time) {
        let full = self.waiting > 0 || self.inflight >= self.limiter.current();
        self.rate.meter.set(at, full);
        self.limiter.occupied(at, self.inflight, self.typical);
    }

    /// After so long without an end handlers hang, rather than take their time.
    pub(crate) fn hangs_after(&self) -> Duration {
        (self.tuning.interval * HANG_WINDOWS).max(self.typical * HANG_HANDLINGS)
    }

    /// A place comes free.
    #[inline]
    pub(crate) fn free_place(&mut self, at: Time) {
        self.freed_at = at;
        self.rate.meter.departed();
        self.limiter.departed();
        self.inflight = self.inflight.saturating_sub(1);
    }

    pub(crate) fn push(&mut self, room: &mut WaitingRoom, slot: u32) {
        let Waiter { level, bytes, ghost, .. } = *room.waiter(slot);
        self.lanes[level.index()].push(room, slot);
        self.waiting += 1;
        self.waiting_bytes += u64::from(bytes);
        self.lane_bytes[level.index()] += u64::from(bytes);
        self.ghosts_waiting += u32::from(ghost);
    }

    pub(crate) fn remove(&mut self, room: &mut WaitingRoom, slot: u32, at: Time) {
        let Waiter { level, bytes, ghost, .. } = *room.waiter(slot);
        self.lanes[level.index()].remove(room, slot);
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(bytes);
        self.lane_bytes[level.index()] -= u64::from(bytes);
        self.ghosts_waiting -= u32::from(ghost);
        if self.waiting == 0 {
            self.detector.saw_empty(at);
        }
    }

    /// Whether it needs a timer.
    pub(crate) fn needs_timer(&self) -> bool {
        self.waiting > 0 || self.overload.is_active()
    }

    /// Requests of that caller, running and waiting.
    pub(crate) fn of_caller(&mut self, caller: u32) -> &mut u32 {
        if self.by_caller.is_empty() {
            self.by_caller = vec![0; CAPPED_CALLERS];
        }
        &mut self.by_caller[caller as usize % CAPPED_CALLERS]
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
