//! How far hosts are from the level, how far is too far, and what fits on them.

use super::super::reach::Reach;
use super::Field;

/// In least tolerances: closer to the level than that, a host is not worth the
/// load that a detour carries. With all hosts there, the spread is still within a
/// point of the best.
const FAR_OFF: f64 = 2.5;

/// How far beyond the level a step may bring a host, as a part of its tolerance.
/// Half, so that what has just been evened out is not at once at the edge.
const SLACK: f64 = 0.5;

impl Field<'_> {
    /// Load above what the host must or should carry, per unit of capacity; below
    /// zero if there is room.
    pub(in super::super) fn heat(&self, rank: u32) -> f64 {
        self.hosts.heat(rank)
    }

    /// What hosts carry when all that has come takes part.
    pub(in super::super) fn final_level(&self) -> f64 {
        self.level_to_come.unwrap_or(self.level)
    }

    /// Whether executors that have just come are about to take their share.
    pub(in super::super) fn awaits_newcomers(&self) -> bool {
        self.level_to_come.is_some()
    }

    /// How far from the level, per unit of capacity, a host may be.
    pub(in super::super) fn tolerance(&self, rank: u32) -> f64 {
        self.hosts.tolerance().of_host(self.host(rank), self.level)
    }

    /// How far any may be.
    pub(in super::super) fn least_tolerance(&self) -> f64 {
        self.hosts.tolerance().least(self.level)
    }

    pub(in super::super) fn is_hot(&self, rank: u32) -> bool {
        self.heat(rank) > self.tolerance(rank)
    }

    pub(in super::super) fn is_cold(&self, rank: u32) -> bool {
        self.hosts.tolerance().cold_above(self.host(rank)) < self.level
    }

    /// Whether a host is so far from the level that a detour may be worth it.
    pub(in super::super) fn is_far_off(&self, rank: u32) -> bool {
        let times = match self.reach {
            Reach::Placed => 1.0,
            Reach::All => FAR_OFF,
        };
        let least = times * self.least_tolerance();
        self.heat(rank).abs() > self.tolerance(rank).max(least)
    }

    /// The load above what the host must or should carry.
    pub(in super::super) fn excess(&self, rank: u32) -> f64 {
        self.heat(rank) * self.host(rank).capacity
    }

    /// The most load that may leave without making the host cold.
    pub(in super::super) fn spare(&self, rank: u32) -> f64 {
        (self.heat(rank) + SLACK * self.tolerance(rank)) * self.host(rank).capacity
    }

    /// The most load that may come without making the host hot, now or soon.
    pub(in super::super) fn room(&self, rank: u32) -> f64 {
        self.room_below(rank, self.final_level())
    }

    /// Whether a load that does not fit may be sent there all the same: not while
    /// newcomers are awaited, unless it will fill a host wherever it is.
    pub(in super::super) fn may_overfill(&self, rank: u32, load: f64) -> bool {
        let share = self.final_level() * self.host(rank).capacity;
        !self.awaits_newcomers() || load > share
    }

    fn room_below(&self, rank: u32, level: f64) -> f64 {
        let host = self.host(rank);
        (SLACK * self.tolerance(rank) - host.heat(level)) * host.capacity
    }

    /// What the largest shards together carry that a host could give away one by
    /// one until it is down to its share; less than that if they are too few.
    pub(in super::super) fn sheddable(&self, rank: u32) -> f64 {
        let excess = self.excess(rank);
        let coldest = self.coldest_first().next();
        let room = coldest.map_or(0.0, |coldest| self.room_below(coldest, self.level));
        let largest = excess.min(room);
        let mut sum = 0.0;
        for book in self.shelf(rank).up_to(largest).iter().rev() {
            if sum >= excess {
                break;
            }
            sum += book.load;
        }
        sum
    }

    /// Hosts further off than so many least tolerances, and than noise explains: the
    /// hottest first, then the cold ones, the coldest last.
    pub(in super::super) fn far_off(&self) -> Vec<u32> {
        let least = self.least_tolerance();
        let below = self.hosts.coldest_first().take_while(|&(heat, _)| heat < -least);
        let below: Vec<u32> = below.map(|(_, rank)| rank).collect();
        let far_off = self.hot_hosts().chain(below.into_iter().rev());
        far_off.filter(|&rank| self.is_far_off(rank)).collect()
    }

    /// Whether any host is too hot or too cold, before anything was tried: if none is,
    /// nothing is asked of any shard.
    pub(in super::super) fn is_anyone_off(&self) -> bool {
        self.hosts.was_anyone_cold() || self.hot_hosts().next().is_some()
    }
}
