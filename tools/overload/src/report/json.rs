//! A line of JSON for each case.

use anyhow::Result;

use crate::outcome::Outcome;

/// The lines, in the order of the cases.
///
/// # Errors
/// None that is known: every row serializes.
pub fn lines(outcomes: &[Outcome]) -> Result<String> {
    let mut lines = String::new();
    for outcome in outcomes {
        lines.push_str(&serde_json::to_string(&outcome.row)?);
        lines.push('\n');
    }
    Ok(lines)
}
