//! How far hosts are from the level, how far is too far, and what fits on them.

use super::super::reach::Reach;
use super::Field;

/// Deviations of a host's load that noise explains. At four, one of 31,000 hosts
/// would seem hot by noise alone in every time constant; but most are truly a
/// little above the level or below it, and drift, which leaves them that much
/// closer. Over a day of noise of 30 % and drift of 10 %, 1,000 shards move 3 to 4
/// times an hour at five, less than once at six. At seven, some shards that double
/// for good are put right only after half a minute.
const NOISE: f64 = 6.0;

/// In least tolerances: closer to the level than that, a host is not worth the
/// load that a detour carries. With all hosts there, the spread is still within a
/// point of the best.
const FAR_OFF: f64 = 2.5;

/// How far beyond the level a step may bring a host, as a part of its tolerance.
/// Half, so that what has just been evened out is not at once at the edge.
const SLACK: f64 = 0.5;

impl Field<'_> {
    /// Load above what the host must or should carry, per unit of capacity; below
    /// zero if there is room. It must carry its largest shard, if that is above
    /// its share: wherever that went, it would be above the share there.
    pub(in super::super) fn heat(&self, rank: u32) -> f64 {
        self.heat_over(rank, self.level)
    }

    fn heat_over(&self, rank: u32, level: f64) -> f64 {
        let host = self.host(rank);
        let share = level * host.capacity;
        (host.load - share.max(host.largest())) / host.capacity
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
        let (host, adaptive) = (self.host(rank), &self.draft.policy.adaptive);
        let noise = NOISE * host.variance.sqrt() / host.capacity;
        let least = adaptive.min_tolerance * self.level;
        noise.max(least).min((adaptive.max_tolerance * self.level).max(least))
    }

    pub(in super::super) fn is_hot(&self, rank: u32) -> bool {
        self.heat(rank) > self.tolerance(rank)
    }

    pub(in super::super) fn is_cold(&self, rank: u32) -> bool {
        self.heat(rank) < -self.tolerance(rank)
    }

    /// Whether a host is so far from the level that a detour may be worth it.
    pub(in super::super) fn is_far_off(&self, rank: u32) -> bool {
        let times = match self.reach {
            Reach::Placed => 1.0,
            Reach::All => FAR_OFF,
        };
        let least = times * self.draft.policy.adaptive.min_tolerance * self.level;
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
        (SLACK * self.tolerance(rank) - self.heat_over(rank, level)) * self.host(rank).capacity
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

    /// Whether any host is too hot or too cold: if none is, nothing is asked of
    /// any shard.
    pub(in super::super) fn is_anyone_off(&self) -> bool {
        self.ranks().any(|rank| self.is_hot(rank) || self.is_cold(rank))
    }
}
