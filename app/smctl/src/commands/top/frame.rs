//! The picture as lines of text with colours: the same lines for the live view
//! and, without the colours, for `--once`.
//!
//! A bar runs from no load to the hottest executor; the bands stand in it as
//! two thin strokes. Hot is red, cold is blue, anything between is green.

use plimsoll_wire::v1::{ExecutorLoad, OwnedLoad};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};

use super::picture::{Bands, Picture, weight};
use crate::figures;
use crate::tabwriter;

const BAR_WIDTH: usize = 40;
const FULL: char = '█';
const EMPTY: char = '·';
const BAND: char = '│';

/// The three parts of the screen, top to bottom.
pub(super) struct Frame {
    pub(super) head: Vec<Line<'static>>,
    pub(super) executors: Vec<Line<'static>>,
    pub(super) shards: Vec<Line<'static>>,
}

impl Frame {
    pub(super) fn of(picture: &Picture) -> Self {
        Self { head: head(picture), executors: executors(picture), shards: shards(picture) }
    }
}

/// The whole picture as plain text.
pub(super) fn plain(picture: &Picture) -> String {
    let Frame { head, executors, shards } = Frame::of(picture);
    let parts = [head, vec![Line::default()], executors, vec![Line::default()], shards];
    let lines = parts.into_iter().flatten().map(|line| line.to_string());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn head(picture: &Picture) -> Vec<Line<'static>> {
    let mut lines = vec![title(picture), measures(picture)];
    let conditions = &picture.namespace.conditions;
    lines.extend(conditions.iter().map(|it| Line::from(format!("! {it}").yellow())));
    lines
}

fn title(picture: &Picture) -> Line<'static> {
    let namespace = &picture.namespace;
    let mut spans = vec![
        namespace.name.clone().bold(),
        Span::from(format!(
            " ({})  {} shards on {} executors  {}",
            namespace.r#type,
            namespace.shards,
            picture.loads.executors.len(),
            picture.address,
        )),
    ];
    spans.extend(namespace.frozen.then(|| "  FROZEN".yellow().bold()));
    Line::from(spans)
}

fn measures(picture: &Picture) -> Line<'static> {
    let balance = picture.loads.balance.unwrap_or_default();
    Line::from(format!(
        "spread {}  max/mean {:.3}  mean {}  measured {}  moves {}  in handover {}  without owner {}",
        figures::percent(balance.spread),
        balance.max_over_mean,
        figures::load(balance.mean),
        figures::percent(balance.measured),
        picture.loads.moves,
        picture.namespace.shards_in_handover,
        picture.namespace.shards_without_owner,
    ))
}

/// A heading and a line an executor: its cells, then its bar.
fn executors(picture: &Picture) -> Vec<Line<'static>> {
    let loads = &picture.loads;
    let mean = loads.balance.map_or(0.0, |balance| balance.mean);
    let rows: String = loads.executors.iter().map(|executor| cells(executor, mean)).collect();
    let table = tabwriter::align(&format!("EXECUTOR\tHOST\tSTATUS\tSHARDS\tLOAD\t/MEAN\t\n{rows}"));
    let mut lines = table.lines().map(str::to_owned);
    let scale = Scale::new(&loads.executors, mean, picture.bands);
    let heading = lines.next().map(|heading| Line::from(heading.bold()));
    let rows = lines.zip(&loads.executors).map(|(cells, executor)| row(cells, executor, &scale));
    heading.into_iter().chain(rows).collect()
}

fn cells(executor: &ExecutorLoad, mean: f64) -> String {
    let ExecutorLoad { executor_id, host, status, load, shards, .. } = executor;
    let over_mean =
        if mean > 0.0 { format!("{:.2}", weight(executor) / mean) } else { "-".to_owned() };
    format!("{executor_id}\t{host}\t{status}\t{shards}\t{}\t{over_mean}\t\n", figures::load(*load))
}

fn row(cells: String, executor: &ExecutorLoad, scale: &Scale) -> Line<'static> {
    let cells = if executor.status == "active" { Span::from(cells) } else { cells.dim() };
    let mut spans = vec![cells];
    spans.extend(scale.bar(weight(executor)));
    Line::from(spans)
}

fn shards(picture: &Picture) -> Vec<Line<'static>> {
    let mean = picture.loads.balance.map_or(0.0, |balance| balance.mean);
    let rows: String = picture.loads.shards.iter().map(|shard| shard_cells(shard, mean)).collect();
    let table = tabwriter::align(&format!("HOTTEST SHARD\tEXECUTOR\tLOAD\tOF A MEAN HOST\n{rows}"));
    let mut lines = table.lines().map(str::to_owned);
    let heading = lines.next().map(|heading| Line::from(heading.bold()));
    heading.into_iter().chain(lines.map(Line::from)).collect()
}

fn shard_cells(shard: &OwnedLoad, mean: f64) -> String {
    let owner = figures::or_dash(&shard.executor_id);
    let part = shard.smoothed_load.filter(|_| mean > 0.0).map(|load| figures::percent(load / mean));
    let load = figures::measured(shard.smoothed_load);
    format!("{}\t{owner}\t{load}\t{}\n", shard.shard_key, part.unwrap_or_else(|| "-".to_owned()))
}

/// From loads to columns and colours of a bar.
struct Scale {
    full: f64,
    lower: f64,
    upper: f64,
}

impl Scale {
    /// The bands stay in sight even if everybody is below them.
    fn new(executors: &[ExecutorLoad], mean: f64, bands: Bands) -> Self {
        let (lower, upper) = (bands.lower * mean, bands.upper * mean);
        let hottest = executors.iter().map(weight).fold(0.0, f64::max);
        Self { full: hottest.max(upper * 1.1), lower, upper }
    }

    fn bar(&self, load: f64) -> Vec<Span<'static>> {
        if self.full <= 0.0 {
            return vec![Span::from(EMPTY.to_string().repeat(BAR_WIDTH)).dim()];
        }
        let (end, bands) = (self.column(load), [self.column(self.lower), self.column(self.upper)]);
        let cell = |column| match column {
            column if bands.contains(&column) => Span::from(BAND.to_string()),
            column if column < end => Span::styled(FULL.to_string(), self.style(load)),
            _ => EMPTY.to_string().dim(),
        };
        (0..BAR_WIDTH).map(cell).collect()
    }

    fn column(&self, load: f64) -> usize {
        // Between 0 and BAR_WIDTH: loads are finite and not negative.
        (load / self.full * BAR_WIDTH as f64).round() as usize
    }

    fn style(&self, load: f64) -> Style {
        let colour = match load {
            load if load > self.upper => Color::Red,
            load if load < self.lower => Color::Blue,
            _ => Color::Green,
        };
        Style::from(colour)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spans: Vec<Span<'static>>) -> String {
        Line::from(spans).to_string()
    }

    fn executor(load: f64) -> ExecutorLoad {
        ExecutorLoad { load, ..ExecutorLoad::default() }
    }

    const BANDS: Bands = Bands { lower: 0.9, upper: 1.15 };

    #[test]
    fn the_hottest_fills_its_bar_and_the_bands_stand_in_every_bar() {
        let scale = Scale::new(&[executor(20.0), executor(5.0)], 10.0, BANDS);
        assert_eq!(text(scale.bar(20.0)), "██████████████████│████│████████████████");
        assert_eq!(text(scale.bar(5.0)), "██████████········│····│················");
        assert_eq!(scale.style(20.0), Style::from(Color::Red));
        assert_eq!(scale.style(5.0), Style::from(Color::Blue));
        assert_eq!(scale.style(10.0), Style::from(Color::Green));
    }

    #[test]
    fn no_load_at_all_is_an_empty_bar() {
        let scale = Scale::new(&[executor(0.0)], 0.0, BANDS);
        assert_eq!(text(scale.bar(0.0)), EMPTY.to_string().repeat(BAR_WIDTH));
    }
}
