//! Columns as Go's `text/tabwriter` lays them out with minimum width 0 and two
//! spaces of padding: a cell ended by a tab is padded to its column's width, the
//! last cell of a line never is.
//!
//! As there, a column reaches only over neighbouring lines that have it.

/// Between the widest cell of a column and the next column.
const PADDING: usize = 2;

/// Lays out tab-separated lines.
pub(crate) fn align(text: &str) -> String {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let widths = widths(&lines);
    let mut aligned = String::new();
    for (cells, widths) in lines.iter().zip(&widths) {
        push_line(&mut aligned, cells, widths);
    }
    aligned
}

fn push_line(aligned: &mut String, cells: &[&str], widths: &[usize]) {
    for (column, cell) in cells.iter().enumerate() {
        aligned.push_str(cell);
        if let Some(width) = widths.get(column) {
            aligned.extend(std::iter::repeat_n(' ', width - cell.chars().count()));
        }
    }
    aligned.push('\n');
}

/// For every line the widths of its tab-ended cells.
fn widths(lines: &[Vec<&str>]) -> Vec<Vec<usize>> {
    let mut widths: Vec<Vec<usize>> =
        lines.iter().map(|cells| vec![0; cells.len().saturating_sub(1)]).collect();
    let columns = widths.iter().map(Vec::len).max().unwrap_or(0);
    for column in 0..columns {
        let mut start = 0;
        for run in lines.chunk_by(|a, b| (a.len() > column + 1) == (b.len() > column + 1)) {
            fill_run(&mut widths[start..start + run.len()], run, column);
            start += run.len();
        }
    }
    widths
}

/// Gives neighbouring lines that all have the column the width of its widest cell.
fn fill_run(widths: &mut [Vec<usize>], run: &[Vec<&str>], column: usize) {
    let widest = run.iter().map(|cells| cells.get(column).map_or(0, |cell| cell.chars().count()));
    let width = widest.max().unwrap_or(0) + PADDING;
    for widths in widths.iter_mut().filter(|widths| widths.len() > column) {
        widths[column] = width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_every_cell_but_the_last() {
        let table = "NAME\tTYPE\tSHARDS\nns-1\tfixed\t1024\nlonger-name\tephemeral\t-\n";
        let expected = "NAME         TYPE       SHARDS\nns-1         fixed      1024\nlonger-name  ephemeral  -\n";
        assert_eq!(align(table), expected);
    }

    #[test]
    fn counts_characters_not_bytes() {
        assert_eq!(align("é\tb\nee\tb\n"), "é   b\nee  b\n");
    }

    #[test]
    fn an_empty_last_cell_leaves_the_padding_before_it() {
        assert_eq!(align("a\tb\nc\t\n"), "a  b\nc  \n");
    }

    #[test]
    fn an_empty_column_is_two_wide() {
        assert_eq!(align("a\t\tb\n"), "a    b\n");
    }

    #[test]
    fn a_line_without_the_column_ends_it() {
        assert_eq!(align("aaaa\tb\nalone\nc\td\n"), "aaaa  b\nalone\nc  d\n");
    }

    #[test]
    fn a_column_reaches_over_longer_and_shorter_lines() {
        assert_eq!(align("a\tbbb\tc\nlong\tb\nx\ty\tz\n"), "a     bbb  c\nlong  b\nx     y  z\n");
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(align(""), "");
    }
}
