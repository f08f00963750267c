//! The report as a table for a terminal or a file.

use std::fmt::Write;

use super::{grouped, millis, percent};
use crate::outcome::Outcome;
use crate::report::{Reason, Report};
use crate::tally::Figures;

const HEADS: [&str; 11] =
    ["", "offered/s", "ok/s", "ok %", "shed %", "other %", "p50", "p90", "p99", "p99.9", "max"];

/// The report in columns; times in milliseconds from the intended start.
pub fn table(report: &Report) -> String {
    let mut text = head(report);
    text += &columns(&rows(report));
    text += &reasons("refused because", &report.refusals);
    text += &reasons("went wrong because", &report.failures);
    text += &generator(report);
    text
}

fn head(report: &Report) -> String {
    let ended = if report.interrupted { ", interrupted" } else { "" };
    let counts = &report.total.counts;
    let mut text = format!(
        "{}, {}, {} arrivals, seed {}, {:.1} of {:.1} s{ended}\n{} offered",
        report.target,
        report.protocol,
        report.arrivals,
        report.seed,
        report.ran_s,
        report.planned_s,
        grouped(counts.offered),
    );
    for outcome in Outcome::ALL {
        let count = counts.of(outcome);
        if count > 0 || outcome == Outcome::Ok {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {} {}", grouped(count), outcome.words());
        }
    }
    text + "\n\n"
}

fn rows(report: &Report) -> Vec<[String; 11]> {
    let mut rows = vec![HEADS.map(str::to_owned), row("all".into(), &report.total)];
    if report.steps.len() > 1 {
        for step in &report.steps {
            rows.push(row(rates(step.from_rate, step.to_rate), &step.figures));
        }
    }
    for level in &report.levels {
        rows.push(row(format!("level {}", level.level), &level.figures));
    }
    for caller in &report.callers {
        rows.push(row(format!("{} ({})", caller.name, caller.level), &caller.figures));
    }
    rows
}

pub(super) fn rates(from: f64, to: f64) -> String {
    if from == to { format!("step {from}/s") } else { format!("ramp {from} to {to}/s") }
}

fn row(name: String, figures: &Figures) -> [String; 11] {
    let counts = &figures.counts;
    let times = figures.latency;
    let other = counts.ended() - counts.ok - counts.shed;
    [
        name,
        format!("{:.1}", figures.offered_rate),
        format!("{:.1}", figures.ok_rate),
        percent(counts.ok, counts.offered),
        percent(counts.shed, counts.offered),
        percent(other, counts.offered),
        millis(times.map(|times| times.p50_ms)),
        millis(times.map(|times| times.p90_ms)),
        millis(times.map(|times| times.p99_ms)),
        millis(times.map(|times| times.p999_ms)),
        millis(times.map(|times| times.max_ms)),
    ]
}

/// The first column to the left, numbers to the right.
fn columns(rows: &[[String; 11]]) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(line, "  {cell:>width$}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn reasons(title: &str, reasons: &[Reason]) -> String {
    let mut text = String::new();
    if !reasons.is_empty() {
        let _ = writeln!(text, "\n{title}");
    }
    for reason in reasons {
        let _ = writeln!(text, "{:>12}  {}", grouped(reason.count), reason.reason);
    }
    text
}

fn generator(report: &Report) -> String {
    let generator = &report.generator;
    let lag = generator.lag;
    let mut text = format!(
        "\ngenerator: started late by {} ms (p50), {} ms (p99); at most {} in flight\n",
        millis(lag.map(|lag| lag.p50_ms)),
        millis(lag.map(|lag| lag.p99_ms)),
        grouped(generator.most_in_flight),
    );
    for warning in &generator.warnings {
        let _ = writeln!(text, "WARNING: {warning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn it_shows_all_callers_levels_reasons_and_the_generator() {
        let text = table(&example());
        let expected = "\
http://127.0.0.1:8080, HTTP/2, poisson arrivals, seed 1, 10.0 of 10.0 s
1,000 offered, 800 ok, 200 shed

              offered/s  ok/s    ok %  shed %  other %   p50   p90   p99  p99.9   max
all               100.0  80.0   80.00   20.00     0.00  10.0  20.0  40.0   45.0  50.0
level 2            50.0  50.0  100.00    0.00     0.00  10.0  20.0  40.0   45.0  50.0
level 4            50.0  30.0   60.00   40.00     0.00  10.0  20.0  40.0   45.0  50.0
checkout (2)       50.0  50.0  100.00    0.00     0.00  10.0  20.0  40.0   45.0  50.0
batch (4)          50.0  30.0   60.00   40.00     0.00  10.0  20.0  40.0   45.0  50.0

refused because
         200  overload

generator: started late by 10.0 ms (p50), 0.30 ms (p99); at most 12 in flight
";
        assert_eq!(text, expected);
    }

    #[test]
    fn warnings_stand_out() {
        let mut report = example();
        report.generator.warnings.push("too slow".into());
        assert!(table(&report).ends_with("WARNING: too slow\n"));
    }
}
