//! Those who wait in a queue: who is ahead of whom, and how long that takes.

use std::time::Duration;

use super::Queue;
use super::rolling::work;
use crate::criticality::Criticality;
use crate::lane::Lane;
use crate::overload::{Growth, Overload};
use crate::shares::Standing;
use crate::time::Time;
use crate::waiting::{Waiter, WaitingRoom};

/// Callers whose places are counted apart for a cap; beyond, some share a count.
const CAPPED_CALLERS: usize = 4096;

impl Queue {
    /// How many wait that would be served before a newcomer of that level.
    pub(crate) fn ahead(&self, level: Criticality) -> u32 {
        self.lanes[..=level.index()].iter().map(Lane::len).sum()
    }

    pub(crate) fn has_waiting(&self, level: Criticality) -> bool {
        self.lanes[level.index()].len() > 0
    }

    /// Critical requests that wait.
    pub(crate) fn critical(&self) -> u32 {
        self.ahead(Criticality::CoreFlow)
    }

    /// Entries and bytes that wait and do not make room for that level.
    pub(crate) fn kept_against(&self, level: Criticality) -> (u32, u64) {
        let kept = match level {
            Criticality::Infrastructure => 0,
            _ => level.index(),
        };
        (self.lanes[..=kept].iter().map(Lane::len).sum(), self.lane_bytes[..=kept].iter().sum())
    }

    /// The wait of a newcomer of that level, if it is not overtaken.
    pub(crate) fn predicted_wait(&self, level: Criticality) -> Duration {
        work(self.ahead(level), self.per_request) + self.lag.standing()
    }

    /// How it has grown, as a newcomer of that level sees it.
    pub(crate) fn growth(&self, at: Time, level: Criticality) -> Growth {
        Growth {
            wait: f64::from(self.ahead(level)) * self.per_request + self.lag_seconds,
            grown_for: at.nanos_since(self.empty_at) as f64 * 1e-9,
            per_request: self.per_request,
            window: self.window,
        }
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

    /// How long the longest waiting request has waited.
    pub(crate) fn oldest_wait(&self, room: &WaitingRoom, at: Time) -> Duration {
        let oldest = self.lanes.iter().filter_map(Lane::oldest);
        oldest.map(|slot| at - room.waiter(slot).since).max().unwrap_or_default()
    }

    pub(super) fn critical_wait(&self, room: &WaitingRoom, at: Time) -> Duration {
        let oldest = self.lanes[..2].iter().filter_map(Lane::oldest);
        oldest.map(|slot| at - room.waiter(slot).since).max().unwrap_or_default()
    }

    /// Nobody waits.
    #[inline]
    pub(crate) fn saw_empty(&mut self, at: Time) {
        self.empty_at = at;
        self.detector.saw_empty();
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
            self.saw_empty(at);
        }
    }

    /// Requests of that caller, running and waiting.
    pub(crate) fn of_caller(&mut self, caller: u32) -> &mut u32 {
        if self.by_caller.is_empty() {
            self.by_caller = vec![0; CAPPED_CALLERS];
        }
        &mut self.by_caller[caller as usize % CAPPED_CALLERS]
    }
}
