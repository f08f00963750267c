//! The rules for Prometheus by its own tool, and against the runbook.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What follows `start` on lines that begin with it.
fn after<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    text.lines().filter_map(|line| line.trim().strip_prefix(start)).collect()
}

fn alerts(rules: &str) -> BTreeSet<&str> {
    after(rules, "- alert: ")
}

/// Runs promtool in the folder of the rules. Where it is not installed only CI
/// insists: `cargo xtask test` installs it there.
fn promtool(arguments: &[&str]) {
    let folder = root().join("deploy/prometheus");
    match Command::new("promtool").args(arguments).current_dir(folder).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "promtool {arguments:?}:\n{said}{complaint}");
        }
        Err(error) if std::env::var_os("CI").is_some() => panic!("promtool: {error}"),
        Err(error) => eprintln!("not checked by promtool (apt-get install prometheus): {error}"),
    }
}

#[test]
fn prometheus_takes_every_rule() {
    promtool(&["check", "rules", "recording.rules.yml", "alerts.rules.yml"]);
}

#[test]
fn every_alert_fires_under_its_fault_and_none_without() {
    promtool(&["test", "rules", "alerts.test.yml"]);
}

#[test]
fn every_alert_has_a_unit_test() {
    let (rules, tests) =
        (read("deploy/prometheus/alerts.rules.yml"), read("deploy/prometheus/alerts.test.yml"));
    let fire: BTreeSet<_> =
        after(&tests, "- name: ").iter().filter_map(|name| name.strip_suffix(" fires")).collect();
    assert_eq!(fire, alerts(&rules));
}

#[test]
fn the_runbook_has_a_section_for_every_alert_and_for_nothing_else() {
    let (rules, runbook) = (read("deploy/prometheus/alerts.rules.yml"), read("docs/runbook.md"));
    assert_eq!(after(&runbook, "## "), alerts(&rules));
    let links: BTreeSet<_> = alerts(&rules).iter().map(|name| name.to_lowercase()).collect();
    let linked = after(&rules, "runbook: docs/runbook.md#");
    assert_eq!(linked, links.iter().map(String::as_str).collect());
}
