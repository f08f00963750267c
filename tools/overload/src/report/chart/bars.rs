//! A bar for each shedder and figure.

use anyhow::Result;
use plotters::prelude::*;

use super::look::{PAPER, SECOND, color, text};
use super::scale;
use crate::report::{Group, number};
use crate::shedders::Shedder;

const WIDTH: u32 = 860;
const TOP: i32 = 64;
const LEFT: i32 = 190;
const RIGHT: i32 = 110;
const BAR: i32 = 13;
const GAP: i32 = 9;

/// An SVG of horizontal bars, as long as the greatest value allows.
pub(super) fn draw(
    title: &str,
    unit: &str,
    figures: &[&str],
    groups: &[&Group<'_>],
) -> Result<String> {
    let values = |group: &Group<'_>| -> Vec<Option<f64>> {
        figures.iter().map(|it| Some(group.spread(it)?.median * scale(unit))).collect()
    };
    let all: Vec<_> = groups.iter().map(|group| (group.shedder, values(group))).collect();
    let most = all.iter().flat_map(|it| it.1.iter().flatten()).copied().fold(0.0, f64::max);
    let each = BAR * figures.len() as i32 + GAP;
    let height = TOP + each * all.len() as i32 + 16;
    let mut svg = String::new();
    {
        let size = (WIDTH, u32::try_from(height)?);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&PAPER)?;
        root.draw(&Text::new(title.to_owned(), (16, 12), text(18)))?;
        let legend = format!("{} ({unit})", figures.join(", then "));
        root.draw(&Text::new(legend, (16, 38), text(13)))?;
        let longest = WIDTH as i32 - LEFT - RIGHT;
        for (row, (shedder, values)) in all.iter().enumerate() {
            let y = TOP + each * row as i32;
            root.draw(&Text::new((*shedder).to_owned(), (16, y), text(13)))?;
            for (n, value) in values.iter().enumerate() {
                let top = y + BAR * n as i32;
                let known = value.unwrap_or(0.0);
                let length = (f64::from(longest) * known / most.max(1e-9)) as i32;
                let fill = fill(shedder, n);
                let corners = [(LEFT, top), (LEFT + length.max(1), top + BAR - 2)];
                root.draw(&Rectangle::new(corners, fill.filled()))?;
                let label = value.map_or_else(|| "none".to_owned(), number);
                let at = (LEFT + length + 6, top - 1);
                root.draw(&Text::new(label, at, text(12)))?;
            }
        }
        root.present()?;
    }
    Ok(svg)
}

fn fill(shedder: &str, bar: usize) -> RGBColor {
    if bar > 0 {
        return SECOND;
    }
    Shedder::named(shedder).map_or(SECOND, color)
}
