//! What is known of a row.

use std::time::Duration;

/// What became of requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    pub admitted: u64,
    pub shed: u64,
    pub expired: u64,
    /// Of those that were admitted: what would have been refused but for a dry run.
    pub would_shed: u64,
}

impl Counts {
    /// All of them.
    pub fn requests(&self) -> u64 {
        self.admitted.saturating_add(self.shed).saturating_add(self.expired)
    }

    /// Adds others. Figures come from outside: they saturate.
    pub fn add(&mut self, other: &Self) {
        self.admitted = self.admitted.saturating_add(other.admitted);
        self.shed = self.shed.saturating_add(other.shed);
        self.expired = self.expired.saturating_add(other.expired);
        self.would_shed = self.would_shed.saturating_add(other.would_shed);
    }
}

/// What gave a request its level, the least that is known of it first.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Rule {
    /// None: the default.
    #[default]
    Default,
    Endpoint,
    Caller,
    EndpointAndCaller,
    /// The caller asked for one that is less critical than the policy's.
    Header,
}

impl Rule {
    /// From the least known to the most.
    pub const ALL: [Self; 5] =
        [Self::Default, Self::Endpoint, Self::Caller, Self::EndpointAndCaller, Self::Header];

    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Endpoint => "endpoint",
            Self::Caller => "caller",
            Self::EndpointAndCaller => "endpoint and caller",
            Self::Header => "header",
        }
    }

    /// What another version says that nobody knows here counts as the default.
    pub fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|rule| rule.as_str() == text).unwrap_or_default()
    }
}

/// Two percentiles.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spread {
    pub p50: Duration,
    pub p99: Duration,
}

impl Spread {
    /// Percentiles do not add up: the median is the mean of both by weight, the 99th
    /// the greater, which is never too low for either.
    fn merge(&mut self, weight: u64, other: &Self, other_weight: u64) {
        let sum = u128::from(weight) + u128::from(other_weight);
        let part = |span: Duration, weight: u64| span.as_nanos().saturating_mul(weight.into());
        let both = part(self.p50, weight).saturating_add(part(other.p50, other_weight));
        if let Some(nanos) = both.checked_div(sum) {
            self.p50 = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        }
        self.p99 = self.p99.max(other.p99);
    }
}

/// What is known of a row.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Figures {
    pub counts: Counts,
    pub rule: Rule,
    pub queue_wait: Spread,
    pub handling: Spread,
}

impl Figures {
    /// Adds what was seen elsewhere or at another time. Of two rules the one that is
    /// known less stays.
    pub fn merge(&mut self, other: &Self) {
        if self.counts == Counts::default() {
            *self = *other;
            return;
        }
        let (weight, other_weight) = (self.counts.admitted, other.counts.admitted);
        self.queue_wait.merge(weight, &other.queue_wait, other_weight);
        self.handling.merge(weight, &other.handling, other_weight);
        self.counts.add(&other.counts);
        self.rule = self.rule.min(other.rule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(admitted: u64, p50: u64, p99: u64) -> Figures {
        let spread = Spread { p50: Duration::from_millis(p50), p99: Duration::from_millis(p99) };
        let counts = Counts { admitted, ..Counts::default() };
        Figures { counts, rule: Rule::Caller, queue_wait: spread, handling: spread }
    }

    #[test]
    fn medians_are_weighted_and_the_worst_percentile_stays() {
        let mut sum = seen(300, 10, 50);
        sum.merge(&seen(100, 30, 40));
        assert_eq!(sum, seen(400, 15, 50));
    }

    #[test]
    fn figures_without_sense_do_no_harm() {
        let mut sum = seen(u64::MAX, u64::MAX / 2, u64::MAX);
        sum.merge(&seen(u64::MAX, u64::MAX / 2, 1));
        assert_eq!(sum.counts.admitted, u64::MAX);
        let mut nothing = Figures::default();
        nothing.merge(&Figures::default());
        assert_eq!(nothing, Figures::default());
    }

    #[test]
    fn words_of_the_wire_are_read_back() {
        for rule in Rule::ALL {
            assert_eq!(Rule::parse(rule.as_str()), rule);
        }
        assert_eq!(Rule::parse("whatever"), Rule::Default);
    }
}
