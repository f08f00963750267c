//! The goals beside what was measured.

use super::number;
use crate::goal::{Bound, Judged, Of};

/// Rows of cells, the first of which are the heads.
pub fn rows(judged: &[Judged]) -> Vec<Vec<String>> {
    let heads = ["goal", "figure", "to reach", "measured", ""];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(judged.iter().map(row));
    rows
}

fn row(judged: &Judged) -> Vec<String> {
    let goal = judged.goal;
    let bound = match goal.bound {
        Bound::AtLeast(value) => format!("at least {}", number(value)),
        Bound::AtMost(value) => format!("at most {}", number(value)),
    };
    let of = if goal.of == Of::Worst { " (worst seed)" } else { "" };
    let measured = judged.measured.map_or_else(|| "not measured".to_owned(), number);
    let interval = judged
        .interval
        .map(|(least, most)| format!(" (95 % interval {} to {})", number(least), number(most)));
    let measured = measured + &interval.unwrap_or_default();
    let mark = match judged.measured {
        None => "",
        Some(_) if judged.reached => "reached",
        Some(_) => "MISSED",
    };
    vec![goal.number.to_owned(), format!("{}{of}", goal.about), bound, measured, mark.to_owned()]
}
