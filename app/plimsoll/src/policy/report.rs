//! What a policy says, as data.

use std::time::Duration;

use plimsoll_qalm::policy_file::Loaded;
use plimsoll_shedding::policy::{CallerSource, Policy};
use plimsoll_shedding::settings::{Auto, Enforcement, QueueSettings};
use serde::Serialize;

use super::explain::Explanation;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) version: String,
    pub(super) enforcement: &'static str,
    pub(super) default_criticality: u8,
    pub(super) concurrency: String,
    pub(super) caller_from: Vec<String>,
    pub(super) ignored_headers: Vec<&'static str>,
    pub(super) bypass: Vec<String>,
    /// Of a queue that no group describes.
    pub(super) queue: Queue,
    pub(super) groups: Vec<Group>,
    pub(super) rules: Vec<Rule>,
    pub(super) findings: Vec<String>,
    pub(super) explanation: Option<Explanation>,
}

#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) endpoints: Vec<String>,
    pub(super) each: bool,
    pub(super) enforcement: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(super) struct Rule {
    pub(super) endpoint: Option<String>,
    pub(super) caller: Option<String>,
    pub(super) criticality: Option<u8>,
    pub(super) enforcement: Option<&'static str>,
}

/// Settings in force, as a policy file would say them.
#[derive(Debug, Serialize)]
pub(super) struct Queue {
    pub(super) target: String,
    pub(super) interval: String,
    pub(super) concurrency: String,
    pub(super) min_concurrency: Option<u32>,
    pub(super) max_concurrency: u32,
    pub(super) max_queue: u32,
    pub(super) max_queue_bytes: u64,
    pub(super) reserve: f64,
    pub(super) newest_first_after: String,
    pub(super) critical_patience: String,
    pub(super) caller_cap: Option<u32>,
    pub(super) never_drop_critical: bool,
}

impl Report {
    pub(super) fn new(loaded: &Loaded, explanation: Option<Explanation>) -> Self {
        let policy = loaded.table.policy();
        Self {
            version: loaded.version.clone(),
            enforcement: policy.enforcement.as_str(),
            default_criticality: policy.default_criticality.level(),
            concurrency: auto(policy.concurrency, |it| it.to_string()),
            caller_from: policy.caller_from.iter().map(source).collect(),
            ignored_headers: ignored(policy),
            bypass: loaded.table.bypassed().map(str::to_owned).collect(),
            queue: Queue::new(&loaded.table.queue_settings()),
            groups: policy.groups.iter().map(group).collect(),
            rules: policy.rules.iter().map(rule).collect(),
            findings: loaded.table.findings(),
            explanation,
        }
    }
}

impl Queue {
    pub(super) fn new(settings: &QueueSettings) -> Self {
        Self {
            target: auto(settings.target, span),
            interval: auto(settings.interval, span),
            concurrency: auto(settings.concurrency, |it| it.to_string()),
            min_concurrency: settings.min_concurrency,
            max_concurrency: settings.max_concurrency,
            max_queue: settings.max_queue,
            max_queue_bytes: settings.max_queue_bytes,
            reserve: settings.reserve,
            newest_first_after: span(settings.newest_first_after),
            critical_patience: span(settings.critical_patience),
            caller_cap: settings.caller_cap,
            never_drop_critical: settings.never_drop_critical,
        }
    }
}

fn group(it: &plimsoll_shedding::policy::Group) -> Group {
    Group {
        name: it.name.clone(),
        endpoints: it.endpoints.clone(),
        each: it.each,
        enforcement: it.enforcement.map(Enforcement::as_str),
    }
}

fn rule(it: &plimsoll_shedding::policy::Rule) -> Rule {
    Rule {
        endpoint: it.endpoint.clone(),
        caller: it.caller.clone(),
        criticality: it.criticality.map(|it| it.level()),
        enforcement: it.enforcement.map(Enforcement::as_str),
    }
}

fn source(source: &CallerSource) -> String {
    match source {
        CallerSource::Header(name) => name.clone(),
        CallerSource::Certificate => "certificate".to_owned(),
    }
}

fn ignored(policy: &Policy) -> Vec<&'static str> {
    let trust = policy.trust;
    let all = [
        (trust.criticality, "criticality"),
        (trust.cohort, "cohort"),
        (trust.deadline, "deadline"),
    ];
    all.into_iter().filter(|(believed, _)| !believed).map(|(_, name)| name).collect()
}

fn auto<T>(value: Auto<T>, text: impl Fn(T) -> String) -> String {
    match value {
        Auto::Auto => "auto".to_owned(),
        Auto::Fixed(it) => text(it),
    }
}

fn span(span: Duration) -> String {
    format!("{span:?}")
}
