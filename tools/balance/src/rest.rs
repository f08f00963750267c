//! Cycles with fixed loads until nothing moves any more.

use std::time::{Duration, Instant};

use plimsoll_placement::time::Time;
use plimsoll_placement::view::View;

use crate::mode::Planner;
use crate::world::{Moved, apply};

/// From one cycle to the next, as in the product and in the Go server.
pub const PERIOD: Duration = Duration::from_secs(1);

/// Cycles after which a planner that still moves shards never will rest.
const MOST_CYCLES: u32 = 20_000;

/// What it took to come to rest.
#[derive(Clone, Debug)]
pub struct Rest {
    pub view: View,
    pub now: Time,
    pub moved: Moved,
    /// What the planner took for the cycles that moved something.
    pub planning: Duration,
    /// False if it was still moving shards when patience ended.
    pub rested: bool,
}

/// Plans and applies, a cycle a second of virtual time from `now` on, until no
/// shard has moved for longer than any cooldown.
pub fn run_to_rest(planner: &Planner, view: View, now: Time) -> Rest {
    run_for(planner, view, now, MOST_CYCLES)
}

/// The same for at most so many cycles.
pub fn run_for(planner: &Planner, view: View, now: Time, cycles: u32) -> Rest {
    let patience = planner.patience();
    let mut rest =
        Rest { view, now, moved: Moved::default(), planning: Duration::ZERO, rested: false };
    let mut moved_at = now;
    for _ in 0..cycles {
        rest.now += PERIOD;
        if rest.cycle(planner) {
            moved_at = rest.now;
        } else if rest.now - moved_at > patience {
            rest.rested = true;
            break;
        }
    }
    rest
}

impl Rest {
    /// Whether the cycle moved anything.
    fn cycle(&mut self, planner: &Planner) -> bool {
        let begun = Instant::now();
        let steps = planner.cycle(self.now, &self.view);
        let took = begun.elapsed();
        if steps.is_empty() {
            return false;
        }
        self.planning += took;
        self.moved = self.moved.and(apply(&mut self.view, &steps, self.now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Mode;
    use crate::world::balance;
    use crate::world::tests::view;

    #[test]
    fn every_mode_rests_on_fixed_loads_and_none_makes_things_worse() {
        let start = view(&[&[9.0, 3.0, 3.0, 2.0], &[1.0, 1.0], &[4.0, 2.0, 1.0], &[1.0]]);
        for mode in Mode::ALL.into_iter().filter(|&mode| mode != Mode::RING) {
            let rest = run_to_rest(&Planner::new(mode), start.clone(), Time::ZERO);
            assert!(rest.rested, "{mode:?}");
            assert!(balance(&rest.view).max <= balance(&start).max, "{mode:?}");
        }
    }

    #[test]
    fn a_cooldown_is_waited_for() {
        // 1 % of the budget is one move a cycle; the shard that moved first must
        // move again, or stay, only once its cooldown is over.
        let start = view(&[&[4.0; 6], &[4.0]]);
        let rest = run_to_rest(&Planner::new(Mode::GREEDY), start, Time::ZERO);
        assert!(rest.now > Time::from_millis(60_000));
        assert_eq!(balance(&rest.view).max, 16.0);
    }
}
