//! Before a plan: what is kept is brought up to what is so.

use super::Ledger;
use super::executors::Refreshed;
use crate::standing::{Standing, Tolerance};
use crate::time::Time;
use crate::view::ExecutorIndex;

impl Ledger {
    /// How hosts stand now.
    pub(super) fn refresh(&mut self, now: Time) -> Standing {
        self.recent.advance(now, self.policy.per_shard_cooldown());
        let mean = self.measured().mean;
        let is_other_mean = std::mem::replace(&mut self.mean, mean) != mean;
        match (self.standing.take(), self.executors.refresh(&self.entries)) {
            (Some(mut standing), Refreshed::Accounts(changed)) => {
                self.follow(&mut standing, changed, is_other_mean);
                standing
            }
            _ => {
                let tolerance = Tolerance::of(&self.policy.adaptive);
                Standing::of(tolerance, self.executors.hosts(mean))
            }
        }
    }

    /// A shard that nobody has measured counts as the mean, so hosts with one change
    /// with it.
    fn follow(
        &self,
        standing: &mut Standing,
        mut changed: Vec<ExecutorIndex>,
        is_other_mean: bool,
    ) {
        if is_other_mean {
            changed.extend(self.executors.guessed());
            changed.sort_unstable();
            changed.dedup();
        }
        let ranked = changed.into_iter().filter_map(|index| Some((self.rank(index)?, index)));
        let hosts: Vec<_> = ranked.map(|(rank, index)| (rank, self.host(index))).collect();
        standing.set_all(hosts.into_iter());
    }
}
