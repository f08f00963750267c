//! Which dashboards draw a metric and which alerts watch it, by itself or by a
//! recording rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

/// What the text format appends to a name.
const SUFFIXES: [&str; 4] = ["_total", "_bucket", "_sum", "_count"];

/// Dashboards and alerts by metric.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    pub(crate) dashboards: BTreeMap<String, BTreeSet<String>>,
    pub(crate) alerts: BTreeMap<String, BTreeSet<String>>,
}

impl Uses {
    /// Of these metrics.
    pub(crate) fn read<'a>(root: &Path, metrics: impl Iterator<Item = &'a str>) -> Self {
        let known: BTreeSet<&str> = metrics.collect();
        let recorded = rules(root, "recording.rules.yml", "- record: ");
        let mut uses = Self::default();
        for (name, queries) in dashboards(root) {
            add(&mut uses.dashboards, &name, &queries, &recorded, &known);
        }
        for (name, query) in rules(root, "alerts.rules.yml", "- alert: ") {
            add(&mut uses.alerts, &name, &query, &recorded, &known);
        }
        assert!(uses.dashboards.len() > 20 && uses.alerts.len() > 5, "{uses:?}");
        uses
    }
}

fn add(
    into: &mut BTreeMap<String, BTreeSet<String>>,
    user: &str,
    query: &str,
    recorded: &BTreeMap<String, String>,
    known: &BTreeSet<&str>,
) {
    for word in words(query) {
        if let Some(expression) = recorded.get(word) {
            add(into, user, expression, recorded, known);
        } else if let Some(metric) = bare(word, known) {
            into.entry(metric.to_owned()).or_default().insert(user.to_owned());
        }
    }
}

fn words(query: &str) -> impl Iterator<Item = &str> {
    query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
}

fn bare<'a>(word: &'a str, known: &BTreeSet<&str>) -> Option<&'a str> {
    let stripped = SUFFIXES.iter().find_map(|suffix| word.strip_suffix(suffix));
    [Some(word), stripped].into_iter().flatten().find(|name| known.contains(name))
}

/// Every rule of a file with its expression.
fn rules(root: &Path, file: &str, begins: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(root.join("deploy/prometheus").join(file)).unwrap();
    let rules = text.split(begins).skip(1);
    let rule = |text: &str| {
        let (name, rest) = text.split_once('\n').unwrap();
        let expression = rest.split("annotations:").next().unwrap_or_default();
        (name.trim().to_owned(), expression.to_owned())
    };
    rules.map(rule).collect()
}

/// Every dashboard with all its queries.
fn dashboards(root: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(root.join("deploy/grafana")).unwrap();
    let read = |path: &Path| {
        let name = path.file_stem().unwrap().to_string_lossy().replace("plimsoll-", "");
        let mut all = String::new();
        queries(&serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap(), &mut all);
        (name, all)
    };
    files.map(|file| read(&file.unwrap().path())).collect()
}

fn queries(value: &Value, into: &mut String) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(query)) = fields.get("expr") {
                into.push_str(query);
                into.push('\n');
            }
            fields.values().for_each(|field| queries(field, into));
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, into)),
        _ => {}
    }
}
