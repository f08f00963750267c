//! Conditions under which a finished test counts as failed: `p99>100ms`,
//! `level1:ok<100%`, `checkout:shed>5%`, `rate<1000`, `lag>5ms`. Pure.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use plimsoll_ownership::duration;

use crate::latency::Percentiles;
use crate::report::Report;
use crate::tally::Figures;

const METRICS: &str = "p50, p90, p95, p99, p99.9, mean, max (each also as refusal-p99 ...), lag, \
                       rate, ok, shed, expired, failed, timed-out, not-started";

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    scope: Scope,
    metric: String,
    kind: Kind,
    is_upper: bool,
    limit: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Scope {
    All,
    Level(u8),
    Caller(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// In milliseconds.
    Time,
    /// In percent of what was offered.
    Share,
    /// In requests a second.
    Rate,
}

impl Threshold {
    /// How the report breaks it, if it does. What was never measured breaks it, too.
    pub fn broken_by(&self, report: &Report) -> Option<String> {
        let Some(value) = self.value(report) else {
            return Some(format!("{self}: nothing was measured"));
        };
        let is_broken = if self.is_upper { value > self.limit } else { value < self.limit };
        let unit = match self.kind {
            Kind::Time => " ms",
            Kind::Share => " %",
            Kind::Rate => "/s",
        };
        is_broken.then(|| format!("{self}: it is {value:.3}{unit}"))
    }

    fn value(&self, report: &Report) -> Option<f64> {
        if self.metric == "lag" {
            return report.generator.lag.map(|lag| lag.p99_ms);
        }
        let figures = self.figures(report)?;
        match self.kind {
            Kind::Rate => Some(figures.ok_rate),
            Kind::Share => share(figures, &self.metric),
            Kind::Time => match self.metric.strip_prefix("refusal-") {
                Some(metric) => time(&figures.refusal?, metric),
                None => time(&figures.latency?, &self.metric),
            },
        }
    }

    fn figures<'a>(&self, report: &'a Report) -> Option<&'a Figures> {
        match &self.scope {
            Scope::All => Some(&report.total),
            Scope::Level(level) => {
                let found = report.levels.iter().find(|found| found.level == *level);
                found.map(|found| &found.figures)
            }
            Scope::Caller(name) => {
                let found = report.callers.iter().find(|found| found.name == *name);
                found.map(|found| &found.figures)
            }
        }
    }
}

fn time(times: &Percentiles, metric: &str) -> Option<f64> {
    Some(match metric {
        "p50" => times.p50_ms,
        "p90" => times.p90_ms,
        "p95" => times.p95_ms,
        "p99" => times.p99_ms,
        "p99.9" => times.p999_ms,
        "mean" => times.mean_ms,
        "max" => times.max_ms,
        _ => return None,
    })
}

fn share(figures: &Figures, metric: &str) -> Option<f64> {
    let counts = &figures.counts;
    let count = match metric {
        "ok" => counts.ok,
        "shed" => counts.shed,
        "expired" => counts.expired,
        "failed" => counts.failed,
        "timed-out" => counts.timed_out,
        "not-started" => counts.not_started,
        _ => return None,
    };
    (counts.offered > 0).then(|| 100.0 * count as f64 / counts.offered as f64)
}

fn kind(metric: &str) -> Option<Kind> {
    match metric.strip_prefix("refusal-").unwrap_or(metric) {
        "p50" | "p90" | "p95" | "p99" | "p99.9" | "mean" | "max" => Some(Kind::Time),
        _ => match metric {
            "lag" => Some(Kind::Time),
            "rate" => Some(Kind::Rate),
            "ok" | "shed" | "expired" | "failed" | "timed-out" | "not-started" => Some(Kind::Share),
            _ => None,
        },
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let say = |why: String| format!("{text:?}: {why}");
        let position = text.find(['<', '>']).ok_or_else(|| {
            say("there is no '<' or '>'; write it as in 'p99>100ms' or 'level1:ok<100%'".into())
        })?;
        let (left, right) = (text[..position].trim(), text[position + 1..].trim());
        let (scope, metric) = match left.rsplit_once(':') {
            None => (Scope::All, left),
            Some((scope, metric)) => (scope_of(scope), metric),
        };
        let kind = kind(metric)
            .ok_or_else(|| say(format!("there is no figure {metric:?}; there are {METRICS}")))?;
        let limit = limit(kind, right).map_err(say)?;
        let is_upper = text[position..].starts_with('>');
        Ok(Self { text: text.to_owned(), scope, metric: metric.to_owned(), kind, is_upper, limit })
    }
}

fn scope_of(text: &str) -> Scope {
    let level = text.strip_prefix("level").and_then(|level| level.parse().ok());
    level.map_or_else(|| Scope::Caller(text.to_owned()), Scope::Level)
}

fn limit(kind: Kind, text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match kind {
        Kind::Time => duration::parse(text)
            .map(|span: Duration| span.as_secs_f64() * 1000.0)
            .ok_or_else(|| format!("{text:?} is no duration such as 100ms")),
        Kind::Share => text
            .strip_suffix('%')
            .and_then(number)
            .ok_or_else(|| format!("{text:?} is no share such as 1%")),
        Kind::Rate => number(text.strip_suffix("/s").unwrap_or(text))
            .ok_or_else(|| format!("{text:?} is no rate such as 1000")),
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    fn broken(text: &str) -> Option<String> {
        text.parse::<Threshold>().unwrap().broken_by(&example())
    }

    #[test]
    fn a_broken_threshold_says_by_how_much() {
        assert_eq!(broken("p99>10ms").unwrap(), "p99>10ms: it is 40.000 ms");
        assert_eq!(broken("ok<100%").unwrap(), "ok<100%: it is 80.000 %");
        assert_eq!(broken("rate<1000").unwrap(), "rate<1000: it is 80.000/s");
        assert_eq!(broken("refusal-p99 > 1ms").unwrap(), "refusal-p99 > 1ms: it is 2.000 ms");
        assert_eq!(broken("lag>0s").unwrap(), "lag>0s: it is 0.300 ms");
    }

    #[test]
    fn a_kept_threshold_says_nothing() {
        for text in ["p99>40ms", "max<1ms", "ok<80%", "level2:ok<100%", "batch:shed<40%", "rate<80"]
        {
            assert_eq!(broken(text), None, "{text}");
        }
    }

    #[test]
    fn callers_and_levels_have_their_own() {
        assert!(broken("level4:ok<90%").is_some());
        assert!(broken("batch:shed>39%").is_some());
        assert_eq!(broken("checkout:shed>0%"), None);
    }

    #[test]
    fn what_was_never_measured_breaks() {
        assert_eq!(broken("level3:p99>1s").unwrap(), "level3:p99>1s: nothing was measured");
        assert!(broken("nobody:ok<1%").is_some());
        assert!(broken("checkout:refusal-p99>1s").is_some());
    }

    #[test]
    fn what_cannot_be_read_is_said_with_what_could() {
        for (text, why) in [
            ("p99", "there is no '<' or '>'"),
            ("p98>1ms", "there are p50, p90"),
            ("p99>100", "no duration"),
            ("ok<1", "no share"),
            ("rate<fast", "no rate"),
            ("p99>=1ms", "no duration"),
        ] {
            let said = text.parse::<Threshold>().unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
