//! Charts as SVG, to be read on a light page and on a dark one: nothing is
//! filled behind them, and every colour is of medium brightness.

use anyhow::{Result, anyhow};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

const SIZE: (u32, u32) = (1200, 420);
const INK: RGBColor = RGBColor(128, 132, 140);
const FONT: &str = "sans-serif";

/// Neighbours are told apart by those who see no red or no green as well.
const COLOURS: [RGBColor; 12] = [
    RGBColor(214, 120, 20),
    RGBColor(20, 130, 200),
    RGBColor(20, 160, 110),
    RGBColor(200, 95, 160),
    RGBColor(150, 135, 30),
    RGBColor(130, 100, 210),
    RGBColor(200, 70, 60),
    RGBColor(90, 150, 160),
    RGBColor(160, 110, 80),
    RGBColor(110, 170, 60),
    RGBColor(60, 100, 170),
    RGBColor(190, 130, 190),
];

/// The most of a group's name that fits below its bars.
const LABEL: usize = 14;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A chart with the names of its axes.
#[derive(Clone, Debug)]
pub enum Chart {
    Bars(Bars),
    Curves(Curves),
}

/// Groups of bars, one bar a series in each.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    pub title: String,
    pub y: String,
    pub series: Vec<String>,
    /// The name of each group, and its bars in the order of the series.
    pub groups: Vec<(String, Vec<f64>)>,
    /// The largest value drawn; larger ones are cut off at the top.
    pub ceiling: f64,
}

/// Curves over one axis.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    pub title: String,
    pub x: String,
    pub y: String,
    pub curves: Vec<Curve>,
}

/// One named curve.
#[derive(Clone, Debug)]
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

impl Chart {
    /// The chart as an SVG document.
    ///
    /// # Errors
    ///
    /// There is nothing in it, or it cannot be drawn.
    pub fn to_svg(&self) -> Result<String> {
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            let drawn = match self {
                Self::Bars(bars) => bars.draw(&area),
                Self::Curves(curves) => curves.draw(&area),
            };
            drawn.map_err(|error| anyhow!("cannot draw `{}`: {error}", self.title()))?;
            area.present().map_err(|error| anyhow!("cannot finish the chart: {error}"))?;
        }
        Ok(text)
    }

    fn title(&self) -> &str {
        match self {
            Self::Bars(bars) => &bars.title,
            Self::Curves(curves) => &curves.title,
        }
    }
}

impl Bars {
    fn draw(&self, area: &Area<'_>) -> Result<()> {
        // Room for the legend on the right.
        let span = self.groups.len().max(1) as f64 * 1.12;
        let mut plane = plane(area, &self.title, (0.0, span), (0.0, self.ceiling))?;
        let name = |x: &f64| {
            let group = self.groups.get(x.floor() as usize);
            let is_middle = (x.fract() - 0.5).abs() < 0.01;
            group.filter(|_| is_middle).map_or_else(String::new, |(name, _)| shortened(name))
        };
        plane
            .configure_mesh()
            .disable_x_mesh()
            .x_labels((span * 2.0) as usize + 1)
            .x_label_formatter(&name)
            .y_desc(&self.y)
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.25))
            .axis_style(INK)
            .label_style((FONT, 12).into_font().color(&INK))
            .draw()?;
        self.series
            .iter()
            .enumerate()
            .try_for_each(|(place, name)| self.draw_series(&mut plane, place, name))?;
        legend(&mut plane)
    }

    fn draw_series<'a, 'b: 'a>(
        &self,
        plane: &mut Plane<'a, 'b>,
        place: usize,
        name: &str,
    ) -> Result<()> {
        let width = 0.8 / self.series.len() as f64;
        let colour = COLOURS[place % COLOURS.len()];
        let bars = self.groups.iter().enumerate().filter_map(|(group, (_, values))| {
            let left = group as f64 + 0.1 + place as f64 * width;
            let top = values.get(place)?.min(self.ceiling);
            Some(Rectangle::new([(left, 0.0), (left + width * 0.9, top)], colour.filled()))
        });
        let drawn = plane.draw_series(bars)?;
        drawn.label(name).legend(move |at| square(at, colour));
        Ok(())
    }
}

impl Curves {
    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let right = points().map(|point| point.0).fold(f64::MIN, f64::max);
        let left = points().map(|point| point.0).fold(f64::MAX, f64::min);
        let top = points().map(|point| point.1).fold(0.0, f64::max);
        anyhow::ensure!(right > left && top > 0.0, "there are no points to draw");
        let mut plane = plane(area, &self.title, (left, right), (0.0, top * 1.05))?;
        plane
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.25))
            .axis_style(INK)
            .label_style((FONT, 12).into_font().color(&INK))
            .draw()?;
        for (curve, &colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            let line = LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2));
            let drawn = plane.draw_series(line)?;
            drawn.label(&curve.name).legend(move |at| square(at, colour));
        }
        legend(&mut plane)
    }
}

fn plane<'a, 'b>(
    area: &'a Area<'b>,
    title: &str,
    x: (f64, f64),
    y: (f64, f64),
) -> Result<Plane<'a, 'b>> {
    Ok(ChartBuilder::on(area)
        .caption(title, (FONT, 16).into_font().color(&INK))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(x.0..x.1, y.0..y.1)?)
}

fn legend<'a, 'b: 'a>(plane: &mut Plane<'a, 'b>) -> Result<()> {
    plane
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font((FONT, 12).into_font().color(&INK))
        .draw()?;
    Ok(())
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LABEL {
        return name.into();
    }
    name.chars().take(LABEL - 1).chain(['…']).collect()
}

fn square((x, y): (i32, i32), colour: RGBColor) -> Rectangle<(i32, i32)> {
    Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_drawn_with_its_name_and_no_background() {
        let curve = Curve { name: "hottest".into(), points: vec![(0.0, 1.0), (1.0, 2.0)] };
        let curves = Curves { title: "a month".into(), curves: vec![curve], ..Curves::default() };
        let svg = Chart::Curves(curves).to_svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("hottest") && svg.contains("a month"));
        assert!(!svg.contains("#FFFFFF"));
    }

    #[test]
    fn a_chart_without_points_is_refused() {
        let message = Chart::Curves(Curves::default()).to_svg().unwrap_err().to_string();
        assert!(message.contains("no points"), "{message}");
    }

    #[test]
    fn bars_name_their_groups() {
        let bars = Bars {
            series: vec!["greedy".into(), "adaptive".into()],
            groups: vec![("large".into(), vec![7.0, 0.1]), ("web07".into(), vec![7.7, 0.2])],
            ceiling: 10.0,
            ..Bars::default()
        };
        let svg = Chart::Bars(bars).to_svg().unwrap();
        assert!(svg.contains("large") && svg.contains("web07") && svg.contains("adaptive"));
    }
}
