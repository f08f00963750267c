//! One experiment as a part of the page of results.

use std::fmt::Write;

use super::{goals, table};
use crate::experiments::Experiment;
use crate::goal::Judged;
use crate::outcome::Outcome;

/// Markdown: how it is measured, and every goal.
pub fn head(command: &str, capacity: &str, judged: &[Judged]) -> String {
    let head = include_str!("head.md").replace("{command}", command);
    let reached = judged.iter().filter(|it| it.reached).count();
    let missed = judged.iter().filter(|it| it.measured.is_some() && !it.reached).count();
    let goals = table::markdown(&goals::rows(judged));
    format!(
        "{}{reached} reached, {missed} missed.\n\n{goals}\n{}",
        head.replace("{capacity}", capacity),
        include_str!("beside.md")
    )
}

/// What must be known to read an experiment's figures.
fn note(name: &str) -> Option<&'static str> {
    Some(match name {
        "isolation" => include_str!("notes/isolation.md"),
        "memory" => include_str!("notes/memory.md"),
        "overhead" => include_str!("notes/overhead.md"),
        "reject-latency" => include_str!("notes/reject-latency.md"),
        "stability" => include_str!("notes/stability.md"),
        "stall" => include_str!("notes/stall.md"),
        "step" => include_str!("notes/step.md"),
        _ => return None,
    })
}

/// Markdown: what was done, the command, how to read it, the goals, the table, the
/// chart.
pub fn section(
    experiment: &Experiment,
    command: &str,
    outcomes: &[Outcome],
    judged: &[Judged],
) -> String {
    let mut text = format!("## {} ({})\n\n", experiment.name, experiment.number);
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}.\n\n`{command}`\n", experiment.about);
    if let Some(note) = note(experiment.name) {
        let _ = writeln!(text, "{note}");
    }
    text.push_str(&table::markdown(&goals::rows(judged)));
    let _ = writeln!(text, "\n![{0}](overload/{0}.svg)\n", experiment.name);
    text.push_str(&table::markdown(&table::rows(experiment, outcomes)));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_note_and_every_note_belongs_to_an_experiment() {
        let noted = Experiment::ALL.iter().filter(|it| note(it.name).is_some()).count();
        assert_eq!(noted, 7);
        let step = Experiment::ALL.iter().find(|it| it.name == "step").unwrap();
        let text = section(step, "the command", &[], &[]);
        assert!(text.contains("Breakwater") && text.contains("`the command`"), "{text}");
    }
}
