//! What may stand in a policy file, and how it becomes a policy.

mod value;

use std::ops::Range;
use std::path::Path;

use plimsoll_shedding::Criticality;
use plimsoll_shedding::policy::{
    CallerSource, Group, Place, Policy, PolicyError, Problem, QueueOverrides, Rule, Table, Trust,
};
use serde::Deserialize;
use toml::Spanned;

use super::PolicyFileError;
use value::{AutoCount, AutoSpan, Header, Level, Mode, Span};

/// Below this likeness, 0 to 1, a guess would mislead.
const LIKE: f64 = 0.6;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Form {
    enforcement: Option<Mode>,
    default_criticality: Option<Level>,
    concurrency: Option<Spanned<AutoCount>>,
    caller_from: Option<Vec<Spanned<String>>>,
    ignore_headers: Vec<Header>,
    bypass: Vec<Spanned<String>>,
    bypass_health: Option<bool>,
    queue: Option<Spanned<QueueForm>>,
    groups: Vec<Spanned<GroupForm>>,
    rules: Vec<Spanned<RuleForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupForm {
    name: String,
    endpoints: Vec<String>,
    #[serde(default)]
    each: bool,
    enforcement: Option<Mode>,
    #[serde(default)]
    queue: QueueForm,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleForm {
    endpoint: Option<String>,
    caller: Option<String>,
    criticality: Option<Level>,
    enforcement: Option<Mode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct QueueForm {
    target: Option<AutoSpan>,
    interval: Option<AutoSpan>,
    concurrency: Option<AutoCount>,
    min_concurrency: Option<u32>,
    max_concurrency: Option<u32>,
    max_queue: Option<u32>,
    max_queue_bytes: Option<u64>,
    reserve: Option<f64>,
    newest_first_after: Option<Span>,
    critical_patience: Option<Span>,
    caller_cap: Option<u32>,
    never_drop_critical: Option<bool>,
}

/// Reads and compiles a file's text.
pub(super) fn compile(path: &Path, text: &str) -> Result<Table, PolicyFileError> {
    let form: Form = toml::from_str(text).map_err(|error| {
        let reason = hinted(error.message());
        located(path, text, error.span(), reason)
    })?;
    let policy = form.policy();
    Table::compile(&policy).map_err(|error| {
        let span = form.span(&error);
        located(path, text, span, form.reason(text, &error))
    })
}

/// An error with the line at which the span begins.
fn located(path: &Path, text: &str, span: Option<Range<usize>>, reason: String) -> PolicyFileError {
    let path = path.to_owned();
    match span {
        Some(span) => PolicyFileError::Line { path, line: line(text, &span), reason },
        None => PolicyFileError::Whole { path, reason },
    }
}

fn line(text: &str, span: &Range<usize>) -> usize {
    let before = text.as_bytes().iter().take(span.start);
    before.filter(|&&byte| byte == b'\n').count() + 1
}

/// Serde's message about an unknown name lists the known ones in backticks: the
/// nearest is what was meant.
fn hinted(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let Some((unknown, known)) = names.split_first().filter(|_| message.starts_with("unknown"))
    else {
        return message.trim_end().to_owned();
    };
    let likeness = |name: &&&str| strsim::normalized_damerau_levenshtein(unknown, name);
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) >= LIKE) {
        Some(best) => format!("there is no {unknown:?} here; did you mean {best:?}?"),
        None => format!("there is no {unknown:?} here; there are {}", known.join(", ")),
    }
}

impl Form {
    fn policy(&self) -> Policy {
        let default = Policy::default();
        let text = |it: &Spanned<String>| it.get_ref().clone();
        let sources = |it: &Vec<Spanned<String>>| it.iter().map(source).collect();
        Policy {
            enforcement: self.enforcement.map_or(default.enforcement, |it| it.0),
            default_criticality: level(self.default_criticality)
                .unwrap_or(default.default_criticality),
            concurrency: self.concurrency.as_ref().map_or(default.concurrency, |it| it.get_ref().0),
            caller_from: self.caller_from.as_ref().map_or(default.caller_from, sources),
            trust: self.trust(),
            bypass: self.bypass.iter().map(text).collect(),
            bypass_health: self.bypass_health.unwrap_or(default.bypass_health),
            queue: self.queue.as_ref().map(|it| it.get_ref().overrides()).unwrap_or_default(),
            groups: self.groups.iter().map(|it| it.get_ref().group()).collect(),
            rules: self.rules.iter().map(|it| it.get_ref().rule()).collect(),
        }
    }

    fn trust(&self) -> Trust {
        let believed = |header| !self.ignore_headers.contains(&header);
        Trust {
            criticality: believed(Header::Criticality),
            cohort: believed(Header::Cohort),
            deadline: believed(Header::Deadline),
        }
    }

    /// Where what an error is about stands.
    fn span(&self, error: &PolicyError) -> Option<Range<usize>> {
        match (&error.problem, error.place) {
            (Problem::Setting { .. }, Place::Service) => {
                self.concurrency.as_ref().map(Spanned::span)
            }
            (_, place) => self.span_of(place),
        }
    }

    fn span_of(&self, place: Place) -> Option<Range<usize>> {
        match place {
            Place::Service => None,
            Place::CallerFrom(at) => self.caller_from.as_ref()?.get(at).map(Spanned::span),
            Place::Bypass(at) => self.bypass.get(at).map(Spanned::span),
            Place::Queue => self.queue.as_ref().map(Spanned::span),
            Place::Group(at) => self.groups.get(at).map(Spanned::span),
            Place::Rule(at) => self.rules.get(at).map(Spanned::span),
        }
    }

    /// The error with the line of what it mentions beside its own place.
    fn reason(&self, text: &str, error: &PolicyError) -> String {
        match error.other().and_then(|place| self.span_of(place)) {
            Some(span) => format!("{error} (line {})", line(text, &span)),
            None => error.to_string(),
        }
    }
}

fn source(text: &Spanned<String>) -> CallerSource {
    match text.get_ref().as_str() {
        "certificate" => CallerSource::Certificate,
        header => CallerSource::Header(header.to_owned()),
    }
}

fn level(level: Option<Level>) -> Option<Criticality> {
    level.map(|it| it.0)
}

impl GroupForm {
    fn group(&self) -> Group {
        Group {
            name: self.name.clone(),
            endpoints: self.endpoints.clone(),
            each: self.each,
            enforcement: self.enforcement.map(|it| it.0),
            queue: self.queue.overrides(),
        }
    }
}

impl RuleForm {
    fn rule(&self) -> Rule {
        Rule {
            endpoint: self.endpoint.clone(),
            caller: self.caller.clone(),
            criticality: level(self.criticality),
            enforcement: self.enforcement.map(|it| it.0),
        }
    }
}

impl QueueForm {
    fn overrides(&self) -> QueueOverrides {
        QueueOverrides {
            target: self.target.map(|it| it.0),
            interval: self.interval.map(|it| it.0),
            concurrency: self.concurrency.map(|it| it.0),
            min_concurrency: self.min_concurrency,
            max_concurrency: self.max_concurrency,
            max_queue: self.max_queue,
            max_queue_bytes: self.max_queue_bytes,
            reserve: self.reserve,
            newest_first_after: self.newest_first_after.map(|it| it.0),
            critical_patience: self.critical_patience.map(|it| it.0),
            caller_cap: self.caller_cap,
            never_drop_critical: self.never_drop_critical,
        }
    }
}
