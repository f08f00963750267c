//! A load test for eyes: while it runs, and its report as a table or a page.

mod chart;
mod html;
mod live;
mod table;

pub use html::html;
pub use live::{Lines, Screen};
pub use table::table;

/// `12,345`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part in percent with two digits, so that 99.99 does not look like all of it.
fn percent(part: u64, of: u64) -> String {
    if of == 0 {
        return "-".into();
    }
    let share = 100.0 * part as f64 / of as f64;
    // Rounding must not claim that all, or none, were so.
    let share = if part < of { share.min(99.99) } else { share };
    let share = if part > 0 { share.max(0.01) } else { share };
    format!("{share:.2}")
}

/// Milliseconds with three significant digits or so.
fn millis(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value < 10.0 => format!("{value:.2}"),
        Some(value) if value < 100.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_share_is_rounded_to_all_or_nothing_only_if_it_is() {
        assert_eq!(percent(1_000_000, 1_000_000), "100.00");
        assert_eq!(percent(999_999, 1_000_000), "99.99");
        assert_eq!(percent(1, 1_000_000), "0.01");
        assert_eq!(percent(0, 5), "0.00");
        assert_eq!(percent(0, 0), "-");
    }

    #[test]
    fn times_have_the_digits_that_matter() {
        let all = [None, Some(0.123), Some(12.34), Some(1234.5)];
        assert_eq!(all.map(millis), ["-", "0.12", "12.3", "1234"]);
    }
}
