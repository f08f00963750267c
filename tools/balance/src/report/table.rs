//! A table for people, and the same for programs.

use std::fmt;

/// Columns and rows of text. The first column is a name, the others are figures
/// and stand to the right.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no row.
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&name| name.into()).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Comma-separated values with a header; a cell with a comma or a quote is
    /// quoted.
    pub fn to_csv(&self) -> String {
        let lines = std::iter::once(&self.columns).chain(&self.rows);
        lines
            .map(|cells| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n")
            .collect()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| &row[column]);
            let widths = cells.chain([&self.columns[column]]).map(|cell| cell.chars().count());
            widths.max().unwrap_or(0)
        };
        (0..self.columns.len()).map(width).collect()
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for cells in std::iter::once(&self.columns).chain(&self.rows) {
            let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            writeln!(f, "{}", padded.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["mode", "gap", "note"]);
        table.row(vec!["ring".into(), "12.5".into(), "a, b".into()]);
        table.row(vec!["adaptive".into(), "0.1".into()]);
        table
    }

    #[test]
    fn names_stand_left_and_figures_right() {
        let expected = "mode       gap  note\nring      12.5  a, b\nadaptive   0.1\n";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn a_cell_with_a_comma_is_quoted_in_csv() {
        assert_eq!(table().to_csv(), "mode,gap,note\nring,12.5,\"a, b\"\nadaptive,0.1,\n");
    }
}
