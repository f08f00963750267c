//! Who within a level is let through first when not all can be: fair by caller,
//! and within a caller by cohort.
//!
//! Capacity left to a level is dealt to its callers max-min fairly: nobody gets
//! less than he asks for while another gets more. A caller that asks for more
//! than that is within its share with its favoured cohorts only. This steers who
//! is refused, never how many: that follows from the predicted wait.

use std::time::Duration;

use crate::criticality::Criticality;
use crate::demand::Demand;
use crate::request::CallerIndex;

/// Callers told apart; beyond, some share a place.
const PLACES: usize = 64;
/// Slots over which a caller's requests are averaged.
const MEMORY: f64 = 50.0;
/// How far a caller may be above its share before all its cohorts are.
const LENIENCE: f64 = 1.02;

#[derive(Clone, Copy, Debug, Default)]
struct Caller {
    arrived: u32,
    admitted: u32,
    asks: f64,
    gets: f64,
}

#[derive(Clone, Debug)]
struct Level {
    callers: [Caller; PLACES],
    fair: f64,
    /// Each that asks at all asks for more than that.
    all_ask_more: bool,
}

/// Where a request stands in its level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Standing {
    /// Let through as long as there is any room for its level.
    Within,
    /// Its cohort is among those that go first.
    Beyond,
    /// Its caller asks for more than others get.
    BeyondShare,
}

/// Shares of levels 3 and 4 during an overload.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    levels: [Level; 2],
    folded: u32,
}

impl Shares {
    pub(crate) fn new() -> Self {
        let callers = [Caller::default(); PLACES];
        let level = Level { callers, fair: f64::INFINITY, all_ask_more: true };
        Self { levels: [level.clone(), level], folded: 0 }
    }

    /// Whether a request of that caller and cohort rank (0 last to go, to 1) is
    /// within its share.
    pub(crate) fn standing(&self, level: Criticality, caller: CallerIndex, rank: f64) -> Standing {
        let Some(level) = slot(level).map(|slot| &self.levels[slot]) else {
            return Standing::Within;
        };
        let caller = &level.callers[place(caller)];
        if caller.asks <= level.fair {
            return Standing::Within;
        }
        if caller.gets > level.fair * LENIENCE || rank * caller.asks >= level.fair {
            if level.all_ask_more { Standing::Beyond } else { Standing::BeyondShare }
        } else {
            Standing::Within
        }
    }

    /// One has arrived, and was admitted or not.
    pub(crate) fn count(&mut self, level: Criticality, caller: CallerIndex, admitted: bool) {
        if let Some(slot) = slot(level) {
            let caller = &mut self.levels[slot].callers[place(caller)];
            caller.arrived += 1;
            caller.admitted += u32::from(admitted);
        }
    }

    /// Closes `passed` slots of that length, with so many departures per second
    /// for all levels.
    pub(crate) fn fold(&mut self, slot: Duration, passed: u64, service_rate: f64, demand: &Demand) {
        self.folded = self.folded.saturating_add(1);
        let seconds = slot.as_secs_f64() * passed as f64;
        let slots = (f64::from(self.folded)).min(MEMORY);
        let kept = (-(passed as f64) / slots).exp();
        for (level, at) in self.levels.iter_mut().zip([Criticality::Feature, Criticality::Internal])
        {
            level.fold(seconds, kept, (service_rate - demand.above(at)).max(0.0));
        }
    }
}

impl Level {
    fn fold(&mut self, seconds: f64, kept: f64, capacity: f64) {
        for it in self.callers.iter_mut() {
            it.asks = it.asks * kept + f64::from(it.arrived) / seconds * (1.0 - kept);
            it.gets = it.gets * kept + f64::from(it.admitted) / seconds * (1.0 - kept);
            (it.arrived, it.admitted) = (0, 0);
        }
        self.fair = fair_share(capacity, &self.callers.map(|caller| caller.asks));
        let asks_more = |caller: &Caller| caller.asks > self.fair || caller.asks < 1e-3;
        self.all_ask_more = self.callers.iter().all(asks_more);
    }
}

/// The most that one may get so that all together get `capacity`: max-min
/// fairness by filling up (Bertsekas and Gallager, 1987, section 6.5.2).
fn fair_share(capacity: f64, asks: &[f64]) -> f64 {
    if asks.iter().sum::<f64>() <= capacity {
        return f64::INFINITY;
    }
    let mut share = 0.0;
    for _ in 0..PLACES {
        let (mut given, mut unmet) = (0.0, 0u32);
        for &ask in asks {
            if ask > share { unmet += 1 } else { given += ask }
        }
        let next = (capacity - given).max(0.0) / f64::from(unmet.max(1));
        if next <= share * (1.0 + 1e-9) {
            return next.max(share);
        }
        share = next;
    }
    share
}

fn place(caller: CallerIndex) -> usize {
    caller.0 as usize % PLACES
}

fn slot(level: Criticality) -> Option<usize> {
    match level {
        Criticality::Feature => Some(0),
        Criticality::Internal => Some(1),
        Criticality::Infrastructure | Criticality::CoreFlow => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_that_asks_for_ten_times_as_much_is_cut_and_the_other_is_not() {
        let (mut shares, mut demand) = (Shares::new(), Demand::default());
        let slot = Duration::from_millis(10);
        for _ in 0..100 {
            (0..20).for_each(|_| shares.count(Criticality::Feature, CallerIndex(1), false));
            (0..2).for_each(|_| shares.count(Criticality::Feature, CallerIndex(2), true));
            (0..22).for_each(|_| demand.arrived(Criticality::Feature));
            demand.fold(slot, 1);
            shares.fold(slot, 1, 1100.0, &demand);
        }
        let standing = |caller, rank| shares.standing(Criticality::Feature, caller, rank);
        assert_eq!(standing(CallerIndex(2), 0.999), Standing::Within);
        assert_eq!(standing(CallerIndex(1), 0.5), Standing::BeyondShare);
        assert_eq!(standing(CallerIndex(1), 0.4), Standing::Within);
    }

    proptest! {
        #[test]
        fn a_fair_share_gives_out_the_capacity_and_not_more(
            asks in prop::collection::vec(0.0..1000.0f64, 1..64),
            part in 0.01..1.5f64,
        ) {
            let asked: f64 = asks.iter().sum();
            let capacity = asked * part;
            let share = fair_share(capacity, &asks);
            let given: f64 = asks.iter().map(|ask| ask.min(share)).sum();
            prop_assert!((given - capacity.min(asked)).abs() < 1e-6 * asked.max(1.0));
        }
    }
}
