//! Order of shard keys as people count: "2" before "10", "a2" before "a10".

use std::cmp::Ordering;

/// Compares runs of digits as numbers and the rest as text; equal numbers of
/// different length ("01", "1") fall back to plain text, so the order is total.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some((x, after_x)), Some((y, after_y))) = (first_run(left), first_run(right)) {
        match compare_runs(x, y) {
            Ordering::Equal => (left, right) = (after_x, after_y),
            order => return order,
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// The digits, or the other characters, that the text begins with.
fn first_run(text: &str) -> Option<(&str, &str)> {
    let digits = text.chars().next()?.is_ascii_digit();
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    Some(text.split_at(end))
}

fn compare_runs(a: &str, b: &str) -> Ordering {
    if !(is_number(a) && is_number(b)) {
        return a.cmp(b);
    }
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn is_number(run: &str) -> bool {
    run.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_and_text_spells() {
        let mut keys = ["10", "b", "2", "a10", "a2", "1", "a", "01", "100000000000000000000000"];
        keys.sort_by(|a, b| compare(a, b));
        let expected = ["01", "1", "2", "10", "100000000000000000000000", "a", "a2", "a10", "b"];
        assert_eq!(keys, expected);
    }
}
