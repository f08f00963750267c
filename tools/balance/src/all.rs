//! Every experiment with its defaults, one after the other: what
//! docs/results-balance.md is made from.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Parser;

use crate::experiments::{Experiment, report};
use crate::report::Output;

/// The experiments as on the command line; the first word names their files.
const LINES: [&[&str]; 11] = [
    &["snapshots"],
    &["budget"],
    &["chaos"],
    &["drain"],
    &["scale-out"],
    &["thrash"],
    &["noise"],
    &["step"],
    &["restart"],
    &["planner"],
    &["month"],
];

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(subcommand)]
    experiment: Experiment,
}

/// Runs them all and leaves CSV, SVG and JSON lines of each in a folder.
///
/// # Errors
///
/// One of them failed, or a file cannot be written.
pub fn run_all(into: &Path) -> Result<()> {
    for words in LINES {
        let Line { experiment } = Line::try_parse_from(words).context("a default is wrong")?;
        let name = words.first().copied().unwrap_or_default();
        println!("## {}\n", words.join(" "));
        let report = report(&experiment)?;
        let svg = report.chart.is_some().then(|| into.join(format!("{name}.svg")));
        let csv = Some(into.join(format!("{name}.csv")));
        report.emit(&Output { csv, svg, json: false })?;
        report.save_json(&into.join(format!("{name}.jsonl")))?;
        println!();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_experiment() {
        for words in LINES {
            assert!(Line::try_parse_from(words).is_ok(), "{words:?}");
        }
    }

    #[test]
    fn a_word_that_is_no_experiment_is_refused() {
        assert!(Line::try_parse_from(["nonsense"]).is_err());
    }
}
