//! What a load test found. Serializes to the document of `--json`.

use serde::{Deserialize, Serialize};

use crate::latency::Percentiles;
use crate::series::Second;
use crate::tally::Figures;

/// Above this 99th percentile of the scheduling lag, or of the wait for a connection,
/// in milliseconds, the generator itself distorts what it measures.
pub const LAG_WARNING_MS: f64 = 5.0;

/// A whole load test's findings.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Report {
    /// The URL.
    pub target: String,
    /// `HTTP/1.1`, `HTTP/2` or `gRPC METHOD`.
    pub protocol: String,
    /// When it started, by the wall clock, RFC 3339.
    pub started_at: String,
    /// `poisson` or `constant`.
    pub arrivals: String,
    /// The seed of the schedule.
    pub seed: u64,
    /// How long the plan was.
    pub planned_s: f64,
    /// For how long requests were offered: less than planned if interrupted.
    pub ran_s: f64,
    /// Somebody ended it early.
    pub interrupted: bool,
    /// How well the generator itself did.
    pub generator: Generator,
    /// Everything.
    pub total: Figures,
    /// By phase of the plan.
    pub steps: Vec<Step>,
    /// By caller, in the plan's order.
    pub callers: Vec<CallerFigures>,
    /// By criticality, most critical first.
    pub levels: Vec<LevelFigures>,
    /// By second of the intended start.
    pub seconds: Vec<Second>,
    /// Why requests were shed or expired, most frequent first.
    pub refusals: Vec<Reason>,
    /// Why requests failed, timed out or were not started, most frequent first.
    pub failures: Vec<Reason>,
}

/// How well the generator kept its own schedule.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Generator {
    /// From the intended to the real start of a request.
    pub lag: Option<Percentiles>,
    /// How long requests waited in the generator while all connections were busy; only
    /// over HTTP/1.1, which carries one request on each.
    pub connection_wait: Option<Percentiles>,
    /// The most requests that were under way at once.
    pub most_in_flight: u64,
    /// What to distrust, in sentences; empty if all is well.
    pub warnings: Vec<String>,
}

/// A phase of the plan.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Step {
    /// Requests a second at its start.
    pub from_rate: f64,
    /// Requests a second at its end.
    pub to_rate: f64,
    /// When it started, in seconds since the start of the run.
    pub start_s: f64,
    /// How long it lasted; zero if the run was interrupted before it.
    pub ran_s: f64,
    /// What came of it.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A caller of the plan.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CallerFigures {
    /// Its name.
    pub name: String,
    /// Its criticality.
    pub level: u8,
    /// Its part of the requests, 0 to 1, as planned.
    pub share: f64,
    /// What came of it.
    #[serde(flatten)]
    pub figures: Figures,
}

/// All callers of one criticality.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LevelFigures {
    /// The criticality.
    pub level: u8,
    /// What came of it.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A reason and how often it was met.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// In the server's words, or the system's.
    pub reason: String,
    /// How often.
    pub count: u64,
}

/// A small report for tests: two callers, one of which is shed.
#[cfg(test)]
pub(crate) fn example() -> Report {
    use crate::tally::Counts;

    let times = |p99_ms| Percentiles {
        count: 10,
        mean_ms: 12.0,
        p50_ms: 10.0,
        p90_ms: 20.0,
        p95_ms: 30.0,
        p99_ms,
        p999_ms: 45.0,
        max_ms: 50.0,
    };
    let figures = |offered: u64, ok: u64, refusal| Figures {
        counts: Counts { offered, ok, shed: offered - ok, ..Counts::default() },
        offered_rate: offered as f64 / 10.0,
        ok_rate: ok as f64 / 10.0,
        latency: Some(times(40.0)),
        refusal,
    };
    let (all, checkout) = (figures(1000, 800, Some(times(2.0))), figures(500, 500, None));
    let batch = figures(500, 300, Some(times(2.0)));
    let caller = |name: &str, level, figures| CallerFigures {
        name: name.into(),
        level,
        share: 0.5,
        figures,
    };
    let second = |second| Second {
        second,
        counts: Counts { offered: 100, ok: 80, shed: 20, ..Counts::default() },
        p50_ms: Some(10.0),
        p90_ms: Some(20.0),
        p99_ms: (second != 3).then_some(40.0),
        callers: vec![
            crate::series::CallerCounts { offered: 50, ok: 50, shed: 0 },
            crate::series::CallerCounts { offered: 50, ok: 30, shed: 20 },
        ],
    };
    Report {
        target: "http://127.0.0.1:8080".into(),
        protocol: "HTTP/2".into(),
        started_at: "2026-11-30T12:00:00Z".into(),
        arrivals: "poisson".into(),
        seed: 1,
        planned_s: 10.0,
        ran_s: 10.0,
        interrupted: false,
        generator: Generator {
            lag: Some(times(0.3)),
            connection_wait: None,
            most_in_flight: 12,
            warnings: Vec::new(),
        },
        total: all.clone(),
        steps: vec![Step {
            from_rate: 100.0,
            to_rate: 100.0,
            start_s: 0.0,
            ran_s: 10.0,
            figures: all,
        }],
        callers: vec![caller("checkout", 2, checkout.clone()), caller("batch", 4, batch.clone())],
        levels: vec![
            LevelFigures { level: 2, figures: checkout },
            LevelFigures { level: 4, figures: batch },
        ],
        seconds: (0..10).map(second).collect(),
        refusals: vec![Reason { reason: "overload".into(), count: 200 }],
        failures: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_as_it_was_written() {
        let report = example();
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }

    #[test]
    fn its_keys_are_what_scripts_rely_on() {
        let json = serde_json::to_value(example()).unwrap();
        assert_eq!(json["total"]["ok"], 800);
        assert_eq!(json["total"]["latency"]["p99_ms"], 40.0);
        assert_eq!(json["callers"][1]["name"], "batch");
        assert_eq!(json["callers"][1]["shed"], 200);
        assert_eq!(json["levels"][0]["level"], 2);
        assert_eq!(json["seconds"][3]["p99_ms"], serde_json::Value::Null);
        assert_eq!(json["steps"][0]["from_rate"], 100.0);
        assert_eq!(json["generator"]["lag"]["p99_ms"], 0.3);
    }
}
