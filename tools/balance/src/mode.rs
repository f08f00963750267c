//! The planners that are compared, by name.

use std::time::Duration;

use anyhow::{Result, bail};
use plimsoll_placement::plan;
use plimsoll_placement::plan::{Move, Scope};
use plimsoll_placement::policy::{Mode as Ours, Policy};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::View;

use crate::peers::{Dicer, Golem, Pekko, Swap};
use crate::world::Step;

/// A planner under measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// One of the product's.
    Ours(Ours),
    /// Greedy with the exchange of the reference's fork.
    GreedySwap,
    /// Equal counts, Golem's way.
    Golem,
    /// Equal counts, Pekko's way.
    Pekko,
    /// Dicer's objective with its default tolerance.
    Dicer,
    /// Dicer's objective with its tightest tolerance.
    DicerTight,
}

/// A mode with its settings: asked once a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Planner {
    pub mode: Mode,
    pub policy: Policy,
}

impl Mode {
    /// Every mode, in the order of the tables.
    pub const ALL: [Self; 9] = [
        Self::Ours(Ours::Ring),
        Self::Ours(Ours::Naive),
        Self::Ours(Ours::Greedy),
        Self::GreedySwap,
        Self::Ours(Ours::Adaptive),
        Self::Golem,
        Self::Pekko,
        Self::Dicer,
        Self::DicerTight,
    ];

    /// The product's adaptive planner.
    pub const ADAPTIVE: Self = Self::Ours(Ours::Adaptive);
    /// The seed's algorithm.
    pub const GREEDY: Self = Self::Ours(Ours::Greedy);
    /// Consistent hashing.
    pub const RING: Self = Self::Ours(Ours::Ring);

    /// The name on the command line and in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ours(mode) => mode.as_str(),
            Self::GreedySwap => "greedy-swap",
            Self::Golem => "golem",
            Self::Pekko => "pekko",
            Self::Dicer => "dicer",
            Self::DicerTight => "dicer-tight",
        }
    }

    /// The mode of that name.
    ///
    /// # Errors
    ///
    /// A name that no mode has; the message lists those there are.
    pub fn parse(name: &str) -> Result<Self> {
        let Some(mode) = Self::ALL.into_iter().find(|mode| mode.as_str() == name) else {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::as_str).collect();
            bail!("no mode is called `{name}`: use one of {}", names.join(", "));
        };
        Ok(mode)
    }
}

impl Planner {
    /// The mode with the settings that a namespace has if nobody changes them.
    pub fn new(mode: Mode) -> Self {
        let ours = if let Mode::Ours(mode) = mode { mode } else { Ours::Greedy };
        Self { mode, policy: Policy { mode: ours, ..Policy::default() } }
    }

    /// The same with so large a part of all shards, 0 to 1, movable a cycle.
    #[must_use]
    pub fn with_budget(mut self, proportion: f64) -> Self {
        self.policy.greedy.move_budget_proportion = proportion;
        self.policy.adaptive.move_budget_proportion = proportion;
        self
    }

    /// How long after its last move nothing more can be expected of it.
    pub fn patience(&self) -> Duration {
        match self.mode {
            Mode::Ours(_) | Mode::GreedySwap => self.policy.per_shard_cooldown(),
            Mode::Golem | Mode::Pekko | Mode::Dicer | Mode::DicerTight => Duration::ZERO,
        }
    }

    /// What one cycle would change.
    pub fn cycle(&self, now: Time, view: &View) -> Vec<Step> {
        self.scoped(now, view, Scope::Full)
    }

    /// The same with balance frozen in the product's modes; others cannot be.
    pub fn scoped(&self, now: Time, view: &View, scope: Scope) -> Vec<Step> {
        match self.mode {
            Mode::Ours(_) => steps(&plan(now, view, &self.policy, scope).moves),
            Mode::GreedySwap => Swap { policy: self.policy }.cycle(now, view),
            Mode::Golem => Golem::default().cycle(view),
            Mode::Pekko => Pekko::default().cycle(view),
            Mode::Dicer => Dicer::DEFAULT.cycle(view),
            Mode::DicerTight => Dicer::TIGHT.cycle(view),
        }
    }
}

/// What a plan of the product changes.
pub(crate) fn steps(moves: &[Move]) -> Vec<Step> {
    moves.iter().map(|it| Step { shard: it.shard, to: it.to }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_found_by_its_name() {
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.as_str()).unwrap(), mode);
        }
    }

    #[test]
    fn an_unknown_mode_is_answered_with_those_there_are() {
        let message = Mode::parse("best").unwrap_err().to_string();
        assert_eq!(
            message,
            "no mode is called `best`: use one of ring, naive, greedy, greedy-swap, adaptive, \
             golem, pekko, dicer, dicer-tight"
        );
    }
}
