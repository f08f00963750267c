//! Lines over the load or over time.

use anyhow::Result;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::look::{INK, PAPER, RULE, color, text};
use crate::shedders::Shedder;

const SIZE: (u32, u32) = (860, 420);
/// What the names take at the right, in pixels.
const LEGEND: u32 = 160;

/// One shedder's line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) shedder: Shedder,
    pub(super) points: Vec<(f64, f64)>,
}

/// An SVG; `axes` are what the horizontal and the vertical one show.
pub(super) fn draw(title: &str, axes: (&str, &str), lines: &[Line], log: bool) -> Result<String> {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let left = points().map(|it| it.0).fold(f64::INFINITY, f64::min);
    let right = points().map(|it| it.0).fold(f64::NEG_INFINITY, f64::max);
    let top = points().map(|it| it.1).fold(0.0, f64::max).max(1.0) * 1.05;
    // One factor alone has no width.
    let right = if right > left { right } else { left + 1.0 };
    if log {
        return on(title, axes, lines, left.min(0.0)..right, (1.0..top * 2.0).log_scale());
    }
    on(title, axes, lines, left.min(0.0)..right, 0.0..top)
}

fn on<Y>(
    title: &str,
    axes: (&str, &str),
    lines: &[Line],
    across: std::ops::Range<f64>,
    up: Y,
) -> Result<String>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&PAPER)?;
        let (plot, legend) = root.split_horizontally(SIZE.0 - LEGEND);
        let mut chart = ChartBuilder::on(&plot)
            .caption(title, text(18))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d(across, up)?;
        chart
            .configure_mesh()
            .x_desc(axes.0)
            .y_desc(axes.1)
            .label_style(text(13))
            .axis_style(INK)
            .bold_line_style(RULE)
            .light_line_style(TRANSPARENT)
            .draw()?;
        // Ours last, over the others.
        for line in lines.iter().rev() {
            let visible = line.points.iter().map(|&(x, y)| (x, y.max(1e-9)));
            chart.draw_series(LineSeries::new(visible, style(line)))?;
        }
        for (row, line) in lines.iter().enumerate() {
            let y = 60 + 24 * row as i32;
            legend.draw(&PathElement::new([(4, y), (26, y)], style(line)))?;
            let name = line.shedder.name().to_owned();
            legend.draw(&Text::new(name, (34, y - 7), text(13)))?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn style(line: &Line) -> ShapeStyle {
    let width = if line.shedder == Shedder::Plimsoll { 4 } else { 2 };
    color(line.shedder).stroke_width(width)
}
