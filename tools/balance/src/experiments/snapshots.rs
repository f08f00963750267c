//! Every mode to rest on every snapshot, with fixed loads: how close it comes to
//! what is possible, and what it moves for that.

use anyhow::Result;
use clap::Args;
use plimsoll_placement::time::Time;

use crate::measure::{Effort, Line};
use crate::mode::{Mode, Planner};
use crate::report::{Bars, Chart, Report};
use crate::rest::run_to_rest;
use crate::source::{Named, Source};

use super::reach;
use super::rivals::Rivals;

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
}

pub(super) const COLUMNS: [&str; 10] = [
    "snapshot",
    "mode",
    "max/mean",
    "spread",
    "bound",
    "gap",
    "moves",
    "moved %",
    "over least",
    "planner ms",
];

pub(super) fn run(options: &Options) -> Result<Report> {
    let (all, modes) = (options.source.load()?, super::modes(&options.mode, &Mode::ALL)?);
    let rivals = options.rivals.prepare()?;
    let mut report = Report::new(
        "Every mode at rest on fixed loads; spread, bound and gap in points.",
        &COLUMNS,
    );
    let mut lines = Vec::new();
    for named in &all {
        lines.extend(modes.iter().map(|&mode| at_rest(named, mode)));
        lines.extend(rivals.meta(named, None)?);
        lines.extend(rivals.best(named, 1).map(|(line, _)| line));
    }
    for line in &lines {
        report.line(cells(line), line)?;
    }
    report.notes = yardstick(&lines);
    if [Mode::GREEDY, Mode::ADAPTIVE].iter().all(|mode| modes.contains(mode)) {
        report.notes.extend(reach::compare(&all, &lines));
    }
    report.chart = Some(chart("Gap of the spread to the bound, at rest", &lines));
    Ok(report)
}

/// A mode at rest on a snapshot.
pub fn at_rest(named: &Named, mode: Mode) -> Line {
    eprintln!("{}: {} ...", named.name, mode.as_str());
    let rest = run_to_rest(&Planner::new(mode), named.snapshot.view(), Time::ZERO);
    if !rest.rested {
        eprintln!("{}: {} never came to rest", named.name, mode.as_str());
    }
    let effort = Effort { moved: rest.moved, planning: rest.planning };
    Line::new(&named.name, mode.as_str(), &named.snapshot, &rest.view, effort)
}

pub(super) fn cells(line: &Line) -> Vec<String> {
    vec![
        line.snapshot.clone(),
        line.mode.clone(),
        format!("{:.3}", line.max_over_mean),
        format!("{:.2}", line.spread_points),
        format!("{:.2}", line.bound_points),
        format!("{:.2}", line.gap_points),
        line.moves.to_string(),
        format!("{:.1}", line.moved_load_share * 100.0),
        format!("{:.2}", line.moved_load_over_least),
        format!("{:.2}", line.planner_ms),
    ]
}

/// The seed's own yardstick, a line a mode: in how many snapshots the spread is
/// within 5 points and within 1 point of the best possible. That is the bound,
/// or what a solver found where one was asked, if that is above the bound.
fn yardstick(lines: &[Line]) -> Vec<String> {
    let mut notes = vec!["Snapshots whose spread is within 5 points and within 1 point of the best possible (the seed's own: 23 and 14 of 24):".into()];
    let mut modes: Vec<&str> = Vec::new();
    for line in lines.iter().filter(|line| !line.mode.starts_with("best")) {
        if !modes.contains(&&*line.mode) {
            modes.push(&line.mode);
        }
    }
    notes.extend(modes.into_iter().map(|mode| {
        let of_mode: Vec<&Line> = lines.iter().filter(|line| line.mode == mode).collect();
        let within = |points: f64| {
            of_mode
                .iter()
                .filter(|line| line.spread_points - best_possible(lines, line) <= points)
                .count()
        };
        format!("  {mode:<16} {:>3} and {:>3} of {}", within(5.0), within(1.0), of_mode.len())
    }));
    notes
}

fn best_possible(lines: &[Line], line: &Line) -> f64 {
    let solved =
        lines.iter().find(|it| it.snapshot == line.snapshot && it.mode.starts_with("best"));
    solved.map_or(line.bound_points, |solved| solved.spread_points)
}

/// Gaps as bars, a group a snapshot and a bar a mode.
pub(super) fn chart(title: &str, lines: &[Line]) -> Chart {
    let mut bars = Bars {
        title: format!("{title} (bars above 20 points are cut)"),
        y: "points".into(),
        ceiling: 20.0,
        ..Bars::default()
    };
    for line in lines {
        if !bars.series.contains(&line.mode) {
            bars.series.push(line.mode.clone());
        }
        if bars.groups.last().is_none_or(|(name, _)| *name != line.snapshot) {
            bars.groups.push((line.snapshot.clone(), Vec::new()));
        }
        if let Some((_, values)) = bars.groups.last_mut() {
            values.push(line.gap_points);
        }
    }
    Chart::Bars(bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(name: &str) -> Source {
        Source { generate: Some(5), only: vec![name.into()], ..Source::default() }
    }

    #[test]
    fn a_line_of_json_for_every_snapshot_and_mode() {
        let mode = vec!["ring".into(), "greedy".into(), "dicer".into()];
        let options = Options { source: generated("zipf-0.8"), mode, ..Options::default() };
        let report = run(&options).unwrap();
        let modes: Vec<_> = report.json.iter().map(|line| line["mode"].as_str().unwrap()).collect();
        assert_eq!(modes, ["ring", "greedy", "dicer"]);
        assert!(report.json.iter().all(|line| line.as_object().unwrap().len() == 10));
        assert!(report.json[1]["gap_points"].as_f64() < report.json[0]["gap_points"].as_f64());
    }

    #[test]
    fn the_yardstick_counts_snapshots_and_not_lines() {
        let line = |snapshot: &str, mode: &str, spread: f64| Line {
            snapshot: snapshot.into(),
            mode: mode.into(),
            max_over_mean: 1.0,
            spread_points: spread,
            bound_points: 0.5,
            gap_points: spread - 0.5,
            moves: 0,
            moved_load_share: 0.0,
            moved_load_over_least: 1.0,
            planner_ms: 0.0,
        };
        let lines = [
            line("a", "greedy", 5.4),
            line("a", "adaptive", 1.4),
            line("b", "greedy", 7.0),
            line("b", "adaptive", 3.0),
            line("b", "best-found", 2.5),
        ];
        let notes = yardstick(&lines);
        assert_eq!(
            notes[1].split_whitespace().collect::<Vec<_>>().join(" "),
            "greedy 2 and 0 of 2"
        );
        assert_eq!(
            notes[2].split_whitespace().collect::<Vec<_>>().join(" "),
            "adaptive 2 and 2 of 2"
        );
        assert_eq!(notes.len(), 3);
    }

    #[test]
    fn what_counts_shards_does_nothing_on_even_counts() {
        let named = &generated("pareto-1.5").load().unwrap()[0];
        for mode in [Mode::Golem, Mode::Pekko] {
            assert_eq!(at_rest(named, mode).moves, 0, "{mode:?}");
        }
    }
}
