//! What names and hours are taken to mean: lists to edit.

use crate::policy::glob::Glob;

/// What names and hours are taken to mean.
///
/// Names are told apart by word: `nightly-export`, `NightlyExport` and
/// `nightly_export` have the same two. A word may hold `*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Heuristics {
    /// Words of what nobody waits for: level 4.
    pub background: Vec<String>,
    /// Words of what the service exists for: level 2.
    pub core: Vec<String>,
    /// Last parts of paths that supervisors ask.
    pub health: Vec<String>,
    /// Calls of which this share, 0 to 1, comes within `hours` are a batch.
    pub share: f64,
    /// Hours of the day, 1 to 23.
    pub hours: u8,
    /// Fewer calls say nothing of hours, nor of an exception at one endpoint.
    pub least_calls: u64,
}

const BACKGROUND: [&str; 31] = [
    "analytics",
    "archive*",
    "audit*",
    "backfill*",
    "backup*",
    "batch*",
    "bench*",
    "canary",
    "chaos",
    "crawler",
    "cron*",
    "crontab",
    "etl",
    "export*",
    "import*",
    "indexer",
    "job",
    "jobs",
    "load*test*",
    "maintenance",
    "migrat*",
    "nightly",
    "probe*",
    "reindex*",
    "report*",
    "scheduled",
    "scraper",
    "staging",
    "synthetic*",
    "test*",
    "warmup",
];

const CORE: [&str; 20] = [
    "auth",
    "authentication",
    "authorize",
    "book",
    "booking",
    "bookings",
    "cart",
    "checkout",
    "charge",
    "dispatch",
    "login",
    "order",
    "orders",
    "pay",
    "payment",
    "payments",
    "purchase",
    "signin",
    "trip",
    "trips",
];

const HEALTH: [&str; 14] = [
    "health",
    "healthz",
    "healthcheck",
    "health_check",
    "health-check",
    "heartbeat",
    "live",
    "livez",
    "liveness",
    "ping",
    "ready",
    "readyz",
    "readiness",
    "metrics",
];

impl Default for Heuristics {
    fn default() -> Self {
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Self {
            background: list(&BACKGROUND),
            core: list(&CORE),
            health: list(&HEALTH),
            share: 0.9,
            hours: 3,
            least_calls: 20,
        }
    }
}

impl Heuristics {
    /// The word that says that nobody waits for it.
    pub(super) fn background(&self, name: &str) -> Option<String> {
        first(&self.background, name)
    }

    /// The word that says that the service exists for it.
    pub(super) fn core(&self, name: &str) -> Option<String> {
        first(&self.core, name)
    }

    /// Whether supervisors ask it: no pattern, and called like it.
    pub(super) fn is_health(&self, endpoint: &str) -> bool {
        let last = endpoint.rsplit('/').next().unwrap_or_default();
        let is_alike = |it: &String| it.eq_ignore_ascii_case(last);
        !endpoint.contains('*') && self.health.iter().any(is_alike)
    }
}

/// The first word of a name that fits a list.
fn first(list: &[String], name: &str) -> Option<String> {
    let globs: Vec<Glob> = list.iter().map(|it| Glob::new(&it.to_lowercase())).collect();
    words(name).into_iter().find(|word| globs.iter().any(|glob| glob.matches(word)))
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = c.is_uppercase() && was_lower;
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_word() {
        for name in ["nightly-export", "NightlyExport", "nightly_export", "nightly.export"] {
            assert_eq!(words(name), ["nightly", "export"], "{name}");
        }
        assert_eq!(words("GET /v1/users2Export"), ["get", "v1", "users2", "export"]);
        assert!(words("--").is_empty());
    }

    #[test]
    fn a_word_within_another_says_nothing() {
        let heuristics = Heuristics::default();
        for (name, expected) in [
            ("contest", None),
            ("latest-news", None),
            ("catalog-exporter", Some("exporter")),
            ("menu-staging", Some("staging")),
            ("e2e-tests", Some("tests")),
        ] {
            assert_eq!(heuristics.background(name).as_deref(), expected, "{name}");
        }
        assert_eq!(heuristics.core("border"), None);
        assert_eq!(heuristics.core("POST /orders").as_deref(), Some("orders"));
    }

    #[test]
    fn health_is_the_last_part_of_a_path_and_no_pattern() {
        let heuristics = Heuristics::default();
        assert!(heuristics.is_health("GET /internal/Health"));
        assert!(!heuristics.is_health("GET /health/records"));
        assert!(!heuristics.is_health("GET /users/*/ping"));
    }
}
