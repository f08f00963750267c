//! How loads and measures of balance are written for people.

use plimsoll_wire::v1::Balance;
use serde::Serialize;

/// A load with about four digits that matter; the unit is the application's.
pub(crate) fn load(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A load, or a dash before its first measurement.
pub(crate) fn measured(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), load)
}

/// A dash for nothing, so that a column is never empty.
pub(crate) fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// A part of one as a percentage.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1}%", part * 100.0)
}

/// The heading over [`balance_row`].
pub(crate) const BALANCE_HEADING: &str = "HOSTS\tMEAN\tMAX\tMIN\tMAX/MEAN\tSPREAD\tMEASURED";

/// A balance as tab-separated cells.
pub(crate) fn balance_row(balance: &Balance) -> String {
    let Balance { hosts, mean, max, min, max_over_mean, spread, measured } = balance;
    let [mean, max, min] = [mean, max, min].map(|value| load(*value));
    let [spread, measured] = [spread, measured].map(|part| percent(*part));
    format!("{hosts}\t{mean}\t{max}\t{min}\t{max_over_mean:.3}\t{spread}\t{measured}")
}

/// A balance in JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BalanceView {
    hosts: u64,
    mean: f64,
    max: f64,
    min: f64,
    max_over_mean: f64,
    spread: f64,
    measured: f64,
}

impl From<Balance> for BalanceView {
    fn from(balance: Balance) -> Self {
        let Balance { hosts, mean, max, min, max_over_mean, spread, measured } = balance;
        Self { hosts, mean, max, min, max_over_mean, spread, measured }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_keep_the_digits_that_matter() {
        let cases = [
            (0.0, "0"),
            (0.01234, "0.0123"),
            (4.2, "4.20"),
            (123.456, "123.5"),
            (98_765.4, "98765"),
        ];
        for (value, text) in cases {
            assert_eq!(load(value), text);
        }
        assert_eq!(measured(None), "-");
    }

    #[test]
    fn a_balance_fits_its_heading() {
        let row = balance_row(&Balance::default());
        assert_eq!(row.split('\t').count(), BALANCE_HEADING.split('\t').count());
    }
}
