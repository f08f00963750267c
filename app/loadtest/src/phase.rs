//! How the rate goes over time, as straight stretches, and the arithmetic on it.
//!
//! Pure: a [`Profile`] maps an expected number of arrivals to the moment by which
//! that many have arrived. Whether arrivals are regular or random is the
//! [`Schedule`](crate::schedule::Schedule)'s business.

use std::str::FromStr;
use std::time::Duration;

use plimsoll_ownership::duration;

/// The greatest rate that a plan may name, in requests a second.
pub const MAX_RATE: f64 = 10_000_000.0;
/// The longest that one phase may last.
pub const MAX_LASTS: Duration = Duration::from_secs(7 * 24 * 3600);

/// A stretch of time in which the rate goes evenly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Requests a second at its start, 0 to [`MAX_RATE`].
    pub from: f64,
    /// Requests a second at its end, 0 to [`MAX_RATE`].
    pub to: f64,
    /// How long it lasts; more than zero, at most [`MAX_LASTS`].
    pub lasts: Duration,
}

impl Phase {
    /// One rate for the whole phase.
    pub fn steady(rate: f64, lasts: Duration) -> Self {
        Self { from: rate, to: rate, lasts }
    }

    /// The expected number of arrivals: the area under the rate.
    pub fn arrivals(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.lasts.as_secs_f64()
    }

    /// The rate at a moment of the phase, in requests a second.
    fn rate_at(&self, since_start: Duration) -> f64 {
        let part = (since_start.as_secs_f64() / self.lasts.as_secs_f64()).clamp(0.0, 1.0);
        self.from + (self.to - self.from) * part
    }

    /// When the phase's `n`th expected arrival is due: the root of
    /// `from t + slope t^2 / 2 = n`, in the form that does not cancel.
    fn time_of(&self, n: f64) -> Duration {
        if n <= 0.0 {
            return Duration::ZERO;
        }
        let slope = (self.to - self.from) / self.lasts.as_secs_f64();
        let root = (self.from * self.from + 2.0 * slope * n).max(0.0).sqrt();
        let at = 2.0 * n / (self.from + root);
        Duration::try_from_secs_f64(at).map_or(self.lasts, |at| at.min(self.lasts))
    }

    pub(crate) fn is_sound(&self) -> bool {
        let is_rate = |rate: f64| (0.0..=MAX_RATE).contains(&rate);
        is_rate(self.from) && is_rate(self.to) && !self.lasts.is_zero() && self.lasts <= MAX_LASTS
    }
}

/// Reads `FROM:TO:DURATION`, e.g. `100:1000:30s`.
impl FromStr for Phase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let say = || format!("{text:?} is not FROM:TO:DURATION such as 100:1000:30s");
        let mut parts = text.split(':');
        let (Some(from), Some(to), Some(lasts), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(say());
        };
        let lasts = duration::parse(lasts).ok_or_else(say)?;
        let phase = Self { from: parse_rate(from)?, to: parse_rate(to)?, lasts };
        if phase.is_sound() { Ok(phase) } else { Err(say()) }
    }
}

/// Reads a rate in requests a second: a number from 0 to [`MAX_RATE`].
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.trim().parse::<f64>().ok().filter(|rate| (0.0..=MAX_RATE).contains(rate));
    rate.ok_or_else(|| {
        format!("{text:?} is not a rate; give requests a second between 0 and {MAX_RATE}")
    })
}

/// Phases one after the other.
#[derive(Clone, Debug)]
pub struct Profile {
    phases: Vec<Phase>,
}

impl Profile {
    /// Takes phases as they are; [`crate::Plan`] has checked them.
    pub fn new(phases: Vec<Phase>) -> Self {
        Self { phases }
    }

    /// The phases, in order.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// How long all phases last.
    pub fn lasts(&self) -> Duration {
        self.phases.iter().map(|phase| phase.lasts).sum()
    }

    /// The rate at a moment, in requests a second; 0 after the end.
    pub fn rate_at(&self, at: Duration) -> f64 {
        let mut start = Duration::ZERO;
        for phase in &self.phases {
            if at < start + phase.lasts {
                return phase.rate_at(at - start);
            }
            start += phase.lasts;
        }
        0.0
    }

    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { phases: &self.phases, index: 0, arrivals_before: 0.0, start: Duration::ZERO }
    }
}

/// Walks a profile forwards, for growing numbers of arrivals.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    phases: &'a [Phase],
    index: usize,
    arrivals_before: f64,
    start: Duration,
}

impl Cursor<'_> {
    /// The moment and the phase of the `n`th expected arrival; `None` past the end.
    pub(crate) fn advance_to(&mut self, n: f64) -> Option<(Duration, usize)> {
        loop {
            let phase = self.phases.get(self.index)?;
            let within = n - self.arrivals_before;
            if within < phase.arrivals() {
                return Some((self.start + phase.time_of(within), self.index));
            }
            self.arrivals_before += phase.arrivals();
            self.start += phase.lasts;
            self.index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_steady_phase_spaces_arrivals_evenly() {
        let profile = Profile::new(vec![Phase::steady(100.0, seconds(2))]);
        let mut cursor = profile.cursor();
        assert_eq!(cursor.advance_to(0.0), Some((Duration::ZERO, 0)));
        assert_eq!(cursor.advance_to(50.0), Some((Duration::from_millis(500), 0)));
        assert_eq!(cursor.advance_to(199.0), Some((Duration::from_millis(1990), 0)));
        assert_eq!(cursor.advance_to(200.0), None);
    }

    #[test]
    fn a_ramp_from_nothing_has_a_quarter_of_its_arrivals_in_its_first_half() {
        let phase: Phase = "0:100:10s".parse().unwrap();
        assert_eq!(phase.arrivals(), 500.0);
        let half = phase.time_of(125.0);
        assert!((half.as_secs_f64() - 5.0).abs() < 1e-6, "{half:?}");
    }

    #[test]
    fn silent_phases_are_passed_over() {
        let profile =
            Profile::new(vec![Phase::steady(0.0, seconds(3)), Phase::steady(1.0, seconds(1))]);
        assert_eq!(profile.cursor().advance_to(0.0), Some((seconds(3), 1)));
        assert_eq!(profile.rate_at(seconds(1)), 0.0);
        assert_eq!(profile.rate_at(seconds(3)), 1.0);
        assert_eq!(profile.rate_at(seconds(4)), 0.0);
    }

    #[test]
    fn what_is_no_ramp_is_refused_with_an_example() {
        for text in ["", "1:2", "1:2:3", "1:2:3s:4", "x:2:3s", "-1:2:3s", "1:inf:3s", "1:2:0s"] {
            let why = text.parse::<Phase>().unwrap_err();
            assert!(why.contains("100:1000:30s") || why.contains("not a rate"), "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn the_time_of_an_arrival_is_the_inverse_of_the_area(
            from in 0.0..5000.0_f64, to in 0.0..5000.0_f64, millis in 1_u64..100_000, part in 0.0..1.0_f64,
        ) {
            let phase = Phase { from, to, lasts: Duration::from_millis(millis) };
            let n = phase.arrivals() * part;
            let at = phase.time_of(n).as_secs_f64();
            let slope = (to - from) / phase.lasts.as_secs_f64();
            let area = from * at + slope * at * at / 2.0;
            prop_assert!((area - n).abs() < 1e-3 * (1.0 + n), "{area} {n}");
        }
    }
}
