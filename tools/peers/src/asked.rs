//! A request as a shedder sees it.

use std::time::Duration;

use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;

/// What is known of a request when it arrives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Asked {
    pub level: Criticality,
    /// Which part of the level's users it belongs to.
    pub cohort: Cohort,
    /// Who calls, numbered from 0.
    pub caller: u32,
    /// What is called, numbered from 0.
    pub endpoint: u32,
    /// How long its caller waits from now on; `None`: not said.
    pub patience: Option<Duration>,
}

impl Asked {
    /// How important it is, as one number: smaller is more important. Level first,
    /// cohort inside it, 128 to a level.
    pub fn rank(&self) -> usize {
        self.level.index() * usize::from(Cohort::COUNT) + usize::from(self.cohort.number())
    }

    /// How many ranks there are.
    pub const RANKS: usize = 4 * Cohort::COUNT as usize;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A request of this level that says nothing else.
    pub(crate) fn of(level: u8) -> Asked {
        Asked {
            level: Criticality::from_level(level).unwrap(),
            cohort: Cohort::default(),
            caller: 0,
            endpoint: 0,
            patience: None,
        }
    }

    #[test]
    fn every_cohort_of_a_level_ranks_before_the_next_level() {
        let last = Asked { cohort: Cohort::from_number(127).unwrap(), ..of(1) };
        assert!(last.rank() < of(2).rank());
        assert_eq!(
            Asked { cohort: Cohort::from_number(127).unwrap(), ..of(4) }.rank() + 1,
            Asked::RANKS
        );
    }
}
