//! What is to be reached, and whether it was.

use crate::outcome::Outcome;
use crate::shedders::Shedder;
use crate::stats::{interval95, median};

/// Which way a figure must lie of its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// Which of the seeds' values counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Of {
    Median,
    /// The one farthest on the wrong side.
    Worst,
    /// The upper end of the 95 % confidence interval of their mean.
    Upper95,
}

/// A figure of ours that is to be reached.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    pub about: &'static str,
    /// The number in the reference's list of goals.
    pub number: &'static str,
    pub variant: &'static str,
    /// `None`: at every factor.
    pub factor: Option<f64>,
    pub figure: &'static str,
    pub of: Of,
    pub bound: Bound,
}

/// A goal and what was measured.
#[derive(Clone, Debug)]
pub struct Judged {
    pub goal: Goal,
    /// `None`: not measured, so not reached.
    pub measured: Option<f64>,
    /// The 95 % confidence interval, if it is the upper end of one.
    pub interval: Option<(f64, f64)>,
    pub reached: bool,
}

impl Goal {
    /// Judges the outcomes of an experiment, those of ours as it comes.
    pub fn judge(self, experiment: &str, outcomes: &[Outcome]) -> Judged {
        let title = match self.variant {
            "" => experiment.to_owned(),
            variant => format!("{experiment}/{variant}"),
        };
        let ours = outcomes.iter().filter(|it| {
            it.row.shedder == Shedder::Plimsoll.name()
                && it.row.experiment == title
                && self.factor.is_none_or(|factor| (factor - it.row.factor).abs() < 1e-9)
        });
        let values: Vec<f64> = ours.filter_map(|it| it.figure(self.figure)).collect();
        let measured = self.value(&values);
        let interval = interval95(&values).filter(|_| self.of == Of::Upper95);
        let reached = measured.is_some_and(|it| self.bound.holds(it));
        Judged { goal: self, measured, interval, reached }
    }

    fn value(&self, values: &[f64]) -> Option<f64> {
        match (self.of, self.bound) {
            (Of::Median, _) => median(values),
            (Of::Upper95, _) => interval95(values).map(|(_, upper)| upper),
            (Of::Worst, Bound::AtLeast(_)) => values.iter().copied().reduce(f64::min),
            (Of::Worst, Bound::AtMost(_)) => values.iter().copied().reduce(f64::max),
        }
    }
}

impl Bound {
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::{case, record};
    use crate::record::Fate;

    /// Ours at 2 C with these parts shed, and another that shed nothing.
    fn outcomes(shed: &[usize]) -> Vec<Outcome> {
        let with = |shedder, seed: usize, shed: usize| {
            let fate = |n| if n < shed { Fate::Shed } else { Fate::Answered };
            let records: Vec<_> = (0..10).map(|n| record(0.1, 4, fate(n), 1.0)).collect();
            Outcome::of(&case(shedder, 2.0, seed as u64), &records, 10.0)
        };
        let ours = shed.iter().enumerate().map(|(seed, &it)| with(Shedder::Plimsoll, seed, it));
        ours.chain([with(Shedder::None, 0, 0)]).collect()
    }

    fn goal(of: Of, bound: Bound) -> Goal {
        let (factor, figure) = (Some(2.0), "shed_share");
        Goal { about: "", number: "", variant: "", factor, figure, of, bound }
    }

    #[test]
    fn the_median_and_the_worst_are_of_ours_alone() {
        let outcomes = outcomes(&[1, 2, 9]);
        let judge = |of, bound| goal(of, bound).judge("trial", &outcomes).measured;
        assert_eq!(judge(Of::Median, Bound::AtMost(0.0)), Some(0.2));
        assert_eq!(judge(Of::Worst, Bound::AtMost(0.0)), Some(0.9));
        assert_eq!(judge(Of::Worst, Bound::AtLeast(0.0)), Some(0.1));
    }

    #[test]
    fn a_goal_is_reached_on_its_bound_and_missed_when_nothing_was_measured() {
        let outcomes = outcomes(&[2]);
        assert!(goal(Of::Median, Bound::AtMost(0.2)).judge("trial", &outcomes).reached);
        assert!(!goal(Of::Median, Bound::AtMost(0.19)).judge("trial", &outcomes).reached);
        let elsewhere = goal(Of::Median, Bound::AtMost(1.0)).judge("another", &outcomes);
        assert!(!elsewhere.reached && elsewhere.measured.is_none());
    }
}
