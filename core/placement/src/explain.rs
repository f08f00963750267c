//! Reasons as sentences, with their figures: the same for the command line, the
//! console and the log. Names come from the caller, who has them.

use crate::measures::Balance;
use crate::plan::{HeldHost, HoldReason, Move, MoveReason, StopReason};
use crate::policy::{Mode, Policy};

/// A share that is less than this part below the mean is called the mean.
const SAME: f64 = 0.005;

impl Move {
    /// Which shard goes where and why: "shard orders moves from host-4 to
    /// host-1 with a load of 3.2: host-4 was too hot; the spread falls by 0.31
    /// points (balance)".
    pub fn sentence(&self, shard: &str, from: Option<&str>, to: &str) -> String {
        let path = from
            .map_or_else(|| format!("goes to {to}"), |from| format!("moves from {from} to {to}"));
        let because = self.reason.because(from.unwrap_or("nobody"), to);
        let Self { load, reason, gain, .. } = self;
        let gained = match gain * 100.0 {
            points if points > 0.0 => format!("; the spread falls by {} points", figure(points)),
            _ => String::new(),
        };
        format!(
            "shard {shard} {path} with a load of {}: {because}{gained} ({reason})",
            figure(*load)
        )
    }
}

impl MoveReason {
    fn because(self, from: &str, to: &str) -> String {
        match self {
            Self::Unowned => "nobody had it".into(),
            Self::HostDrained => format!("the host of {from} is drained"),
            Self::ExecutorLeaving => format!("{from} is leaving"),
            Self::FillEmpty => format!("{to} had nothing"),
            Self::Balance => format!("{from} was too hot"),
            Self::Exchange => {
                format!("{from} was too hot, and with what {to} gives up for it they are more even")
            }
            Self::Ring => "the ring has it there".into(),
        }
    }
}

impl HeldHost {
    /// Why a hot host stays as it is: "host-4 carries 1.31 of the mean and
    /// stays: every shard that would help moved less than 60s ago (cooldown)".
    /// Where a shard is so large that others cannot have the mean, the share that
    /// they can have comes first: "host-2 carries 1.10 of its share (0.71 of the
    /// mean) and stays: ...".
    /// `mean` is that of [`Report::after`](crate::plan::Report::after).
    pub fn sentence(&self, name: &str, mean: f64, policy: &Policy) -> String {
        let because = self.reason.because(policy);
        format!("{name} carries {} and stays: {because} ({})", self.burden(mean), self.reason)
    }

    fn burden(&self, mean: f64) -> String {
        let part_of = |whole: f64| if whole > 0.0 { self.load / whole } else { 1.0 };
        let of_mean = format!("{:.2} of the mean", part_of(mean));
        match self.share.filter(|share| *share < mean * (1.0 - SAME)) {
            Some(share) => format!("{:.2} of its share ({of_mean})", part_of(share)),
            None => of_mean,
        }
    }
}

impl HoldReason {
    fn because(self, policy: &Policy) -> String {
        match self {
            Self::Cooldown => {
                let cooldown = policy.per_shard_cooldown();
                format!("every shard that would help moved less than {cooldown:?} ago")
            }
            Self::Budget => format!("the budget of {} is spent", budget(policy)),
            Self::NoShardFits => {
                "each of its shards is so large that the coldest host would end up as hot".into()
            }
            Self::OverloadsTarget => {
                "its hottest shard would make the coldest host as hot or hotter".into()
            }
            Self::Unmeasured => "none of its shards has a measured load worth a move".into(),
            Self::Frozen => "balance is frozen by an operator".into(),
            Self::NoColdHost => format!(
                "no host is below {} of the mean, and the imbalance is not severe",
                policy.greedy.hysteresis_lower_band
            ),
            Self::InHandover => "the shards that would help are in handover".into(),
            Self::Noise => "that is no more than the noise of its loads explains".into(),
            Self::ShardTooLarge => {
                "one of its shards is larger than the share of a host, and the rest has left".into()
            }
            Self::NotWorthIt => "what would help costs more than it gains".into(),
            Self::Newcomer => "only an executor that has just come has room".into(),
        }
    }
}

impl StopReason {
    /// Why the cycle stopped where it did: "stopped with the hottest host at
    /// 1.08 of the mean: every host is inside the bands (balanced)".
    pub fn sentence(self, after: &Balance, policy: &Policy) -> String {
        let state = match after.hosts {
            0 => "no open executor".into(),
            _ => format!("the hottest host at {:.2} of the mean", after.max_over_mean()),
        };
        format!("stopped with {state}: {} ({self})", self.because(policy))
    }

    fn because(self, policy: &Policy) -> String {
        match self {
            Self::Balanced => balanced(policy),
            Self::Budget => format!("the budget of {} is spent", budget(policy)),
            Self::Stuck => "no move would help the hosts that are too hot".into(),
            Self::Frozen => "balance is frozen by an operator".into(),
            Self::TooFewExecutors => "fewer than two executors are open".into(),
            Self::Unmeasured => "no load has been measured yet".into(),
        }
    }
}

fn balanced(policy: &Policy) -> String {
    match policy.mode {
        Mode::Ring => "every shard is where the ring has it".into(),
        Mode::Naive => {
            let deviation = policy.naive.max_deviation;
            format!("the hottest host carries less than {deviation} times what the coldest does")
        }
        Mode::Adaptive => "every host is as near to its share as is worth a move".into(),
        Mode::Greedy => {
            let upper = policy.greedy.hysteresis_upper_band;
            format!("no host is above {upper} of the mean")
        }
    }
}

fn budget(policy: &Policy) -> String {
    match policy.mode {
        Mode::Naive => "one move a cycle".into(),
        Mode::Ring | Mode::Greedy | Mode::Adaptive => {
            let percent = policy.move_budget_proportion() * 100.0;
            format!("{}% of all shards a cycle", figure(percent))
        }
    }
}

/// A figure to three digits: enough to compare, short enough to read.
fn figure(value: f64) -> String {
    let before_point = if value > 0.0 { value.log10().floor() as i32 + 1 } else { 1 };
    let decimals = usize::try_from(3 - before_point).unwrap_or(0).min(9);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{ExecutorIndex, ShardIndex};

    fn greedy() -> Policy {
        Policy { mode: Mode::Greedy, ..Policy::default() }
    }

    fn moved(from: Option<u32>, reason: MoveReason) -> Move {
        let from = from.map(ExecutorIndex);
        Move { shard: ShardIndex(0), from, to: ExecutorIndex(1), load: 3.2, reason, gain: 0.0 }
    }

    #[test]
    fn a_move_says_which_where_how_heavy_and_why() {
        assert_eq!(
            moved(Some(0), MoveReason::Balance).sentence("orders", Some("host-4"), "host-1"),
            "shard orders moves from host-4 to host-1 with a load of 3.2: host-4 was too hot (balance)"
        );
        assert_eq!(
            moved(None, MoveReason::Unowned).sentence("orders", None, "host-1"),
            "shard orders goes to host-1 with a load of 3.2: nobody had it (unowned)"
        );
    }

    #[test]
    fn a_held_host_says_how_hot_it_is_and_why_it_stays() {
        let (executor, reason) = (ExecutorIndex(0), HoldReason::Cooldown);
        let held = HeldHost { executor, load: 131.0, share: None, reason };
        assert_eq!(
            held.sentence("host-4", 100.0, &greedy()),
            "host-4 carries 1.31 of the mean and stays: \
             every shard that would help moved less than 60s ago (cooldown)"
        );
    }

    #[test]
    fn a_held_host_beside_a_giant_is_compared_with_what_it_could_carry() {
        let (executor, reason) = (ExecutorIndex(0), HoldReason::NoShardFits);
        let held = HeldHost { executor, load: 71.0, share: Some(64.0), reason };
        let sentence = held.sentence("host-2", 100.0, &Policy::default());
        assert!(
            sentence.starts_with("host-2 carries 1.11 of its share (0.71 of the mean) and stays: "),
            "{sentence}"
        );
        let even = HeldHost { share: Some(99.9), ..held };
        assert!(
            even.sentence("host-2", 100.0, &Policy::default()).contains("0.71 of the mean and")
        );
    }

    #[test]
    fn a_stop_says_how_uneven_things_are_and_why_that_is_all() {
        let after = Balance::of(&[9.0, 11.0], 1.0);
        assert_eq!(
            StopReason::Budget.sentence(&after, &greedy()),
            "stopped with the hottest host at 1.10 of the mean: \
             the budget of 1% of all shards a cycle is spent (budget)"
        );
        assert_eq!(
            StopReason::Balanced.sentence(&after, &greedy()),
            "stopped with the hottest host at 1.10 of the mean: \
             no host is above 1.15 of the mean (balanced)"
        );
    }

    #[test]
    fn figures_have_three_digits() {
        let figures = [0.0, 0.001234, 0.5, 1.0, 12.34, 999.96, 123_456.7].map(figure);
        assert_eq!(figures, ["0", "0.00123", "0.5", "1", "12.3", "1000", "123457"]);
    }
}
