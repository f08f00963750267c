//! Reports that stay on one side of the level: Page's cumulative sum.

/// The most deviations that one report counts for: with [`SLACK`] and
/// [`ALARM`], four reports in a row are the fewest that make a step.
const CLIP: f64 = 3.0;

/// Deviations that a report may be off without counting.
const SLACK: f64 = 1.0;

/// The sum from which on it is a step. By Siegmund's approximation, noise alone
/// gets there once in `exp(2 * 8.67) / 2`, some 10^7 reports, if it is normal; what
/// that does to a level is within the variance it is given.
const ALARM: f64 = 7.5;

/// Reports that have been on one side of the level for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Excursion {
    /// The cumulative sum, in deviations: above 0 if they are above the level.
    pub(super) score: f64,
    pub(super) mean: f64,
    pub(super) reports: u8,
    /// Of a report, before they set in: they would raise it, and hide in it.
    pub(super) variance: f64,
}

impl Excursion {
    /// Whether the load is another now.
    pub(super) fn is_step(&self) -> bool {
        self.score.abs() >= ALARM
    }

    /// Once a report has come that is so many deviations off the level; `variance` is
    /// that of a report as long as nothing is out of the ordinary.
    pub(super) fn after(self, report: f64, deviations: f64, variance: f64) -> Self {
        let residual = deviations.clamp(-CLIP, CLIP);
        let onward = self.score + residual - SLACK.copysign(self.score);
        if self.score * onward > 0.0 {
            let reports = self.reports.saturating_add(1);
            let mean = self.mean + (report - self.mean) / f64::from(reports);
            return Self { score: onward, mean, reports, variance };
        }
        match residual.abs() - SLACK {
            beyond if beyond > 0.0 => {
                Self { score: beyond.copysign(residual), mean: report, reports: 1, variance }
            }
            _ => Self::default(),
        }
    }
}
