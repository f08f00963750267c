//! Columns for people.

/// The rows, each column as wide as its widest cell; the last is not filled up.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = head.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&head.map(str::to_owned)).chain(rows) {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// What others wrote, without what would steer a terminal.
pub(super) fn clean(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["a".to_owned(), "1".to_owned()], ["long".to_owned(), String::new()]];
        assert_eq!(table(["NAME", "N"], &rows), "NAME  N\na     1\nlong\n");
        assert_eq!(clean("a\u{1b}[2Jb"), "a [2Jb");
    }
}
