//! The dashboards for Grafana: whether they can be read, whether Prometheus can
//! parse every query, and whether the code has every metric they draw.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Where the code names its metrics.
const NAMES: [&str; 2] = ["io/telemetry/src/names.rs", "sdk/qalm/src/layer/metrics/names.rs"];
/// What the text format appends to a name.
const SUFFIXES: [&str; 3] = ["_total", "_bucket", "_count"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn dashboards() -> Vec<(String, Value)> {
    let files = fs::read_dir(root().join("deploy/grafana")).unwrap();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}")))
    };
    files.map(|file| read(file.unwrap().path())).collect()
}

/// Every query of panels and annotations.
fn queries(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(query)) = fields.get("expr") {
                into.insert(query.clone());
            }
            fields.values().for_each(|field| queries(field, into));
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, into)),
        _ => {}
    }
}

fn all_queries() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    dashboards().iter().for_each(|(_, dashboard)| queries(dashboard, &mut all));
    assert!(all.len() > 40, "only {} queries were found", all.len());
    all
}

/// Words of a query that look like metrics of ours.
fn metrics(query: &str) -> impl Iterator<Item = &str> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| {
        ["qalm_", "plimsoll_", "shard_distributor_"].iter().any(|family| word.starts_with(family))
    })
}

#[test]
fn each_has_its_own_name_and_its_panels_do_not_overlap() {
    let all = dashboards();
    assert_eq!(all.len(), 4);
    for (file, dashboard) in &all {
        assert_eq!(dashboard["uid"].as_str(), Some(file.as_str()));
        let mut taken = BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let at = |side: &str| panel["gridPos"][side].as_u64().unwrap();
            assert!(at("x") + at("w") <= 24, "{file}: {} is too wide", panel["title"]);
            for cell in (at("x")..at("x") + at("w"))
                .flat_map(|x| (at("y")..at("y") + at("h")).map(move |y| (x, y)))
            {
                assert!(taken.insert(cell), "{file}: {} covers another", panel["title"]);
            }
        }
    }
}

#[test]
fn the_code_has_every_metric_that_is_drawn() {
    let code: String = NAMES.map(|file| fs::read_to_string(root().join(file)).unwrap()).concat();
    for query in all_queries() {
        for metric in metrics(&query) {
            let known = |name: &str| code.contains(&format!("\"{name}\""));
            let bare = SUFFIXES.iter().find_map(|suffix| metric.strip_suffix(suffix));
            assert!(known(metric) || bare.is_some_and(known), "{metric} of {query} is in no code");
        }
    }
}

#[test]
fn prometheus_can_parse_every_query() {
    let rule = |(index, query): (usize, String)| {
        let query = Value::from(query).to_string();
        format!("  - {{ record: \"query:{index}\", expr: {query} }}\n")
    };
    let rules: String = all_queries().into_iter().enumerate().map(rule).collect();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("queries.yml");
    fs::write(&file, format!("groups:\n- name: queries\n  rules:\n{rules}")).unwrap();
    match Command::new("promtool").args(["check", "rules"]).arg(&file).output() {
        Ok(output) => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{complaint}");
        }
        Err(error) if std::env::var_os("CI").is_some() => panic!("promtool: {error}"),
        Err(error) => eprintln!("not checked by promtool (apt-get install prometheus): {error}"),
    }
}
