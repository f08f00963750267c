//! What a mode makes of a small budget: one cycle that may move a hundredth, two
//! and five hundredths of all shards.

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use plimsoll_placement::time::Time;
use serde::Serialize;

use crate::measure::{Effort, Line};
use crate::mode::{Mode, Planner};
use crate::report::Report;
use crate::source::{Named, Source};
use crate::world::apply;

use super::rivals::Rivals;
use super::snapshots::{COLUMNS, cells};

/// How the experiment is run.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub rivals: Rivals,
    /// Only these modes
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<String>,
    /// Hundredths of all shards that may move
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [1.0, 2.0, 5.0])]
    pub percent: Vec<f64>,
}

/// Modes that know what a move is worth, or are at least asked for a few.
const USUAL: [Mode; 6] =
    [Mode::GREEDY, Mode::GreedySwap, Mode::ADAPTIVE, Mode::Pekko, Mode::Dicer, Mode::DicerTight];

#[derive(Serialize)]
struct Record<'a> {
    budget_percent: f64,
    #[serde(flatten)]
    line: &'a Line,
}

pub(super) fn run(options: &Options) -> Result<Report> {
    let (all, modes) = (options.source.load()?, super::modes(&options.mode, &USUAL)?);
    let rivals = options.rivals.prepare()?;
    let columns: Vec<&str> =
        COLUMNS[..1].iter().chain(&["budget %"]).chain(&COLUMNS[1..]).copied().collect();
    let title =
        "One cycle with so many hundredths of all shards movable; spread, bound and gap in points.";
    let mut report = Report::new(title, &columns);
    for named in &all {
        for &percent in &options.percent {
            let most = most_moves(named, percent);
            let mut lines: Vec<Line> =
                modes.iter().map(|&mode| within(named, mode, percent)).collect();
            lines.extend(rivals.meta(named, Some(most))?);
            for line in &lines {
                let mut row = cells(line);
                row.insert(1, format!("{percent}"));
                report.line(row, Record { budget_percent: percent, line })?;
            }
        }
    }
    Ok(report)
}

fn most_moves(named: &Named, percent: f64) -> usize {
    (percent / 100.0 * named.snapshot.shards.len() as f64).ceil() as usize
}

/// One cycle of a mode; what it would do beyond the budget is not done.
fn within(named: &Named, mode: Mode, percent: f64) -> Line {
    eprintln!("{}: {} within {percent} % ...", named.name, mode.as_str());
    let planner = Planner::new(mode).with_budget(percent / 100.0);
    let mut view = named.snapshot.view();
    let now = Time::from_millis(1_000_000);
    let begun = Instant::now();
    let mut steps = planner.cycle(now, &view);
    let planning = begun.elapsed();
    steps.truncate(most_moves(named, percent));
    let moved = apply(&mut view, &steps, now);
    let effort = Effort { moved, planning };
    Line::new(&named.name, mode.as_str(), &named.snapshot, &view, effort)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mode_moves_more_than_its_budget() {
        let source =
            Source { generate: Some(5), only: vec!["lognormal-1".into()], ..Source::default() };
        let report =
            run(&Options { source, percent: vec![0.5, 2.0], ..Options::default() }).unwrap();
        assert_eq!(report.json.len(), 2 * USUAL.len());
        for line in &report.json {
            let budget = line["budget_percent"].as_f64().unwrap() / 100.0 * 2000.0;
            assert!(line["moves"].as_f64().unwrap() <= budget, "{line}");
        }
    }
}
