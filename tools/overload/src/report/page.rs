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

/// Markdown: what was done, the command, the goals, the table, the chart.
pub fn section(
    experiment: &Experiment,
    command: &str,
    outcomes: &[Outcome],
    judged: &[Judged],
) -> String {
    let mut text = format!("## {} ({})\n\n", experiment.name, experiment.number);
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}.\n\n`{command}`\n", experiment.about);
    text.push_str(&table::markdown(&goals::rows(judged)));
    let _ = writeln!(text, "\n![{0}](overload/{0}.svg)\n", experiment.name);
    text.push_str(&table::markdown(&table::rows(experiment, outcomes)));
    text.push('\n');
    text
}
