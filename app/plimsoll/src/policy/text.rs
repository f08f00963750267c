//! A report for people.

use std::fmt::Write;
use std::path::Path;

use super::explain::Explanation;
use super::report::{Group, Queue, Report, Rule};

pub(super) fn of(file: &Path, report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, file, report);
    text
}

fn write(out: &mut String, file: &Path, report: &Report) -> std::fmt::Result {
    writeln!(out, "{}: valid, version {}", file.display(), report.version)?;
    writeln!(
        out,
        "enforcement {}, default criticality {}, concurrency {}, callers from {}",
        report.enforcement,
        report.default_criticality,
        report.concurrency,
        or_none(&report.caller_from.join(", ")),
    )?;
    if !report.ignored_headers.is_empty() {
        writeln!(out, "incoming headers ignored: {}", report.ignored_headers.join(", "))?;
    }
    writeln!(out, "bypassed: {}", or_none(&report.bypass.join(", ")))?;
    writeln!(out, "\ngroups: {}", report.groups.len())?;
    report.groups.iter().try_for_each(|it| write_group(out, it))?;
    writeln!(out, "\nrules: {}", report.rules.len())?;
    let mut rules = report.rules.iter().enumerate();
    rules.try_for_each(|(at, it)| write_rule(out, at, it))?;
    if !report.findings.is_empty() {
        writeln!(out, "\nnothing comes of")?;
        report.findings.iter().try_for_each(|it| writeln!(out, "  {it}"))?;
    }
    report.explanation.iter().try_for_each(|it| write_explanation(out, it))
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "nowhere" } else { text }
}

fn write_group(out: &mut String, group: &Group) -> std::fmt::Result {
    let queue = if group.each { "a queue each" } else { "one queue" };
    let enforcement = group.enforcement.map_or_else(String::new, |it| format!(", {it}"));
    writeln!(out, "  {}: {queue}{enforcement}: {}", group.name, group.endpoints.join(", "))
}

fn write_rule(out: &mut String, at: usize, rule: &Rule) -> std::fmt::Result {
    let caller = rule.caller.as_deref().map_or("everybody".to_owned(), caller);
    let endpoint = rule.endpoint.as_deref().unwrap_or("everywhere");
    let level = rule.criticality.map(|it| format!("criticality {it}"));
    let sets: Vec<_> = level.into_iter().chain(rule.enforcement.map(str::to_owned)).collect();
    writeln!(out, "  {}. {caller}, {endpoint}: {}", at + 1, sets.join(", "))
}

fn caller(name: &str) -> String {
    if name.is_empty() { "those without a name".to_owned() } else { format!("{name:?}") }
}

fn write_explanation(out: &mut String, it: &Explanation) -> std::fmt::Result {
    let caller = it.caller.as_deref().map_or("somebody without a name".to_owned(), caller);
    writeln!(out, "\na call of {:?} by {caller}", it.endpoint)?;
    if it.bypassed {
        return writeln!(out, "  is bypassed: never queued, never refused, only counted");
    }
    writeln!(out, "  criticality {}, by {}", it.criticality, it.criticality_by)?;
    writeln!(out, "  enforcement {}, by {}", it.enforcement, it.enforcement_by)?;
    match &it.group {
        Some(group) => writeln!(out, "  queue {:?}, of group {group:?}", it.queue_name)?,
        None => writeln!(out, "  queue {:?}, of its own", it.queue_name)?,
    }
    write_queue(out, &it.queue)
}

fn write_queue(out: &mut String, queue: &Queue) -> std::fmt::Result {
    let optional = |it: Option<u32>, none: &str| it.map_or(none.to_owned(), |it| it.to_string());
    for (key, value) in [
        ("target", queue.target.clone()),
        ("interval", queue.interval.clone()),
        ("concurrency", queue.concurrency.clone()),
        ("min_concurrency", optional(queue.min_concurrency, "number of cores")),
        ("max_concurrency", queue.max_concurrency.to_string()),
        ("max_queue", queue.max_queue.to_string()),
        ("max_queue_bytes", queue.max_queue_bytes.to_string()),
        ("reserve", queue.reserve.to_string()),
        ("newest_first_after", queue.newest_first_after.clone()),
        ("critical_patience", queue.critical_patience.clone()),
        ("caller_cap", optional(queue.caller_cap, "none")),
        ("never_drop_critical", queue.never_drop_critical.to_string()),
    ] {
        writeln!(out, "    {key:<20} {value}")?;
    }
    Ok(())
}
