//! Keeps the books of a run: every request is offered once and settled once.
//!
//! Pure: times are arguments. [`crate::run`] holds it behind a lock.

use std::time::Duration;

use crate::latency::Latency;
use crate::outcome::{Outcome, Settled};
use crate::plan::Plan;
use crate::reasons::Reasons;
use crate::report::{CallerFigures, LevelFigures, Step};
use crate::schedule::Arrival;
use crate::series::{Second, Series};
use crate::tally::{Counts, Figures, Tally};

#[derive(Debug)]
pub(crate) struct Ledger {
    steps: Vec<Tally>,
    callers: Vec<Tally>,
    total: Tally,
    /// Since it was last looked at.
    recent: Tally,
    series: Series,
    lag: Latency,
    refusals: Reasons,
    failures: Reasons,
    most_in_flight: u64,
}

impl Ledger {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            steps: vec![Tally::default(); plan.phases.len()],
            callers: vec![Tally::default(); plan.callers.len()],
            total: Tally::default(),
            recent: Tally::default(),
            series: Series::new(plan.callers.len()),
            lag: Latency::default(),
            refusals: Reasons::default(),
            failures: Reasons::default(),
            most_in_flight: 0,
        }
    }

    /// A request is due.
    pub(crate) fn offer(&mut self, arrival: &Arrival) {
        self.tallies(arrival).for_each(Tally::offer);
        self.series.offer(arrival.at, arrival.caller);
    }

    /// The request that was offered last is under way.
    pub(crate) fn note_in_flight(&mut self) {
        self.most_in_flight = self.most_in_flight.max(self.in_flight());
    }

    /// Requests that were offered and have not ended.
    pub(crate) fn in_flight(&self) -> u64 {
        let counts = &self.total.counts;
        counts.offered.saturating_sub(counts.ended())
    }

    /// A request was handed to its connection, so long after its intended start.
    pub(crate) fn start(&mut self, lag: Duration) {
        self.lag.record(lag);
    }

    /// A request that was offered ended, so long after its intended start.
    pub(crate) fn settle(&mut self, arrival: &Arrival, settled: &Settled, took: Duration) {
        let outcome = settled.outcome;
        self.tallies(arrival).for_each(|tally| tally.settle(outcome, took));
        self.series.settle(arrival.at, arrival.caller, outcome, took);
        if let Some(why) = &settled.why {
            match outcome {
                Outcome::Ok | Outcome::Shed | Outcome::Expired => self.refusals.count(why),
                Outcome::Failed | Outcome::TimedOut | Outcome::NotStarted => {
                    self.failures.count(why);
                }
            }
        }
    }

    fn tallies(&mut self, arrival: &Arrival) -> impl Iterator<Item = &mut Tally> {
        let step = self.steps.get_mut(arrival.step);
        let caller = self.callers.get_mut(arrival.caller);
        [&mut self.total, &mut self.recent].into_iter().chain(step).chain(caller)
    }

    pub(crate) fn total(&self, lasts: Duration) -> Figures {
        self.total.figures(lasts)
    }

    /// What happened since this was last asked, `lasts` ago.
    pub(crate) fn take_recent(&mut self, lasts: Duration) -> Figures {
        let figures = self.recent.figures(lasts);
        self.recent.clear();
        figures
    }

    pub(crate) fn caller_counts(&self) -> Vec<Counts> {
        self.callers.iter().map(|tally| tally.counts).collect()
    }

    pub(crate) fn lag(&self) -> &Latency {
        &self.lag
    }

    pub(crate) fn most_in_flight(&self) -> u64 {
        self.most_in_flight
    }

    pub(crate) fn refusals(&self) -> &Reasons {
        &self.refusals
    }

    pub(crate) fn failures(&self) -> &Reasons {
        &self.failures
    }

    /// By phase, of a run that offered requests for `ran`.
    pub(crate) fn steps(&self, plan: &Plan, ran: Duration) -> Vec<Step> {
        let mut start = Duration::ZERO;
        let step = |(phase, tally): (&crate::Phase, &Tally)| {
            let lasted = ran.saturating_sub(start).min(phase.lasts);
            let start_s = start.as_secs_f64();
            start += phase.lasts;
            Step {
                from_rate: phase.from,
                to_rate: phase.to,
                start_s,
                ran_s: lasted.as_secs_f64(),
                figures: tally.figures(lasted),
            }
        };
        plan.phases.iter().zip(&self.steps).map(step).collect()
    }

    /// By caller, of a run that offered requests for `ran`.
    pub(crate) fn callers(&self, plan: &Plan, ran: Duration) -> Vec<CallerFigures> {
        let shares: f64 = plan.callers.iter().map(|caller| caller.share).sum();
        let callers = plan.callers.iter().zip(&self.callers);
        let figures = callers.map(|(caller, tally)| CallerFigures {
            name: caller.name.clone(),
            level: caller.level,
            share: caller.share / shares,
            figures: tally.figures(ran),
        });
        figures.collect()
    }

    /// By criticality, of a run that offered requests for `ran`.
    pub(crate) fn levels(&self, plan: &Plan, ran: Duration) -> Vec<LevelFigures> {
        let of_level = |level: u8| {
            let callers = plan.callers.iter().zip(&self.callers);
            let mut own = callers.filter(|(caller, _)| caller.level == level).peekable();
            own.peek()?;
            let mut sum = Tally::default();
            own.for_each(|(_, tally)| sum.add(tally));
            Some(LevelFigures { level, figures: sum.figures(ran) })
        };
        (1..=4).filter_map(of_level).collect()
    }

    pub(crate) fn into_seconds(self) -> Vec<Second> {
        self.series.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::caller::Caller;
    use crate::phase::Phase;
    use crate::plan::{Call, Version};

    fn plan() -> Plan {
        let call = Call::Http {
            version: Version::Http1,
            method: http::Method::GET,
            paths: Vec::new(),
            body: bytes::Bytes::new(),
        };
        let caller = |name: &str, level| Caller { name: name.into(), level, share: 1.0 };
        let second = Duration::from_secs(1);
        Plan {
            phases: vec![Phase::steady(5.0, second), Phase::steady(9.0, second)],
            callers: vec![caller("a", 1), caller("b", 3), caller("c", 3)],
            ..Plan::new("http://a.example".parse().unwrap(), call, 1.0, second)
        }
    }

    fn sum(counts: impl Iterator<Item = Counts>) -> Counts {
        counts.fold(Counts::default(), |mut sum, counts| {
            sum.add(&counts);
            sum
        })
    }

    #[test]
    fn an_interrupted_run_has_shorter_steps() {
        let plan = plan();
        let steps = Ledger::new(&plan).steps(&plan, Duration::from_millis(1250));
        assert_eq!([steps[0].ran_s, steps[1].ran_s], [1.0, 0.25]);
        let steps = Ledger::new(&plan).steps(&plan, Duration::from_millis(500));
        assert_eq!([steps[0].ran_s, steps[1].ran_s], [0.5, 0.0]);
    }

    #[test]
    fn the_recent_is_forgotten_once_seen() {
        let plan = plan();
        let mut ledger = Ledger::new(&plan);
        let arrival = Arrival { at: Duration::ZERO, step: 0, caller: 0, path: 0 };
        ledger.offer(&arrival);
        assert_eq!(ledger.take_recent(Duration::from_secs(1)).counts.offered, 1);
        assert_eq!(ledger.take_recent(Duration::from_secs(1)).counts.offered, 0);
        assert_eq!(ledger.total(Duration::from_secs(1)).counts.offered, 1);
    }

    proptest! {
        #[test]
        fn every_way_of_summing_gives_the_same(
            events in prop::collection::vec((0_usize..2, 0_usize..3, 0_usize..6), 0..200),
        ) {
            let plan = plan();
            let mut ledger = Ledger::new(&plan);
            let lasts = Duration::from_secs(2);
            for (n, (step, caller, outcome)) in events.iter().enumerate() {
                let at = Duration::from_millis(10 * n as u64);
                let arrival = Arrival { at, step: *step, caller: *caller, path: 0 };
                let settled = Settled::new(Outcome::ALL[*outcome], "why");
                ledger.offer(&arrival);
                ledger.settle(&arrival, &settled, Duration::from_millis(1));
            }
            let total = ledger.total(lasts).counts;
            prop_assert_eq!(total.offered, events.len() as u64);
            prop_assert_eq!(total.ended(), total.offered);
            let steps = ledger.steps(&plan, lasts).into_iter();
            prop_assert_eq!(sum(steps.map(|step| step.figures.counts)), total);
            let callers = ledger.callers(&plan, lasts).into_iter();
            prop_assert_eq!(sum(callers.map(|caller| caller.figures.counts)), total);
            let levels = ledger.levels(&plan, lasts).into_iter();
            prop_assert_eq!(sum(levels.map(|level| level.figures.counts)), total);
            prop_assert_eq!(sum(ledger.into_seconds().into_iter().map(|row| row.counts)), total);
        }
    }
}
