//! The table on stdout and on the page.

use super::{Group, Spread, groups, number};
use crate::experiments::Experiment;
use crate::outcome::Outcome;

/// Rows of cells, the first of which are the heads.
pub fn rows(experiment: &Experiment, outcomes: &[Outcome]) -> Vec<Vec<String>> {
    let heads = ["case", "factor", "shedder"].into_iter().chain(experiment.columns.iter().copied());
    let mut rows = vec![heads.map(str::to_owned).collect()];
    for group in groups(outcomes) {
        rows.push(row(experiment, &group));
    }
    rows
}

fn row(experiment: &Experiment, group: &Group<'_>) -> Vec<String> {
    let mut cells =
        vec![group.experiment.to_owned(), number(group.factor), group.shedder.to_owned()];
    let figures = experiment.columns.iter().map(|figure| group.spread(figure));
    cells.extend(figures.map(|it| it.map_or_else(|| "-".to_owned(), cell)));
    cells
}

/// `median (least..most)`, or one number if they are the same.
fn cell(spread: Spread) -> String {
    let Spread { median, least, most } = spread;
    if number(least) == number(most) {
        return number(median);
    }
    format!("{} ({}..{})", number(median), number(least), number(most))
}

/// The rows with their columns aligned.
pub fn text(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The rows as Markdown.
pub fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let Some((heads, body)) = rows.split_first() else { return String::new() };
    let rule = format!("|{}\n", "---|".repeat(heads.len()));
    line(heads) + &rule + &body.iter().map(|row| line(row)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_are_one_number() {
        assert_eq!(cell(Spread { median: 1.0, least: 1.0, most: 1.0 }), "1.000");
        assert_eq!(cell(Spread { median: 2.0, least: 1.0, most: 30.0 }), "2.000 (1.000..30.000)");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "bb"], ["ccc", "d"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(text(&rows), "a    bb\nccc  d\n");
        assert_eq!(markdown(&rows), "| a | bb |\n|---|---|\n| ccc | d |\n");
    }
}
