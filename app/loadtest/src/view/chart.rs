//! Line charts over seconds as inline SVG. Colours are classes, which the page's
//! style sheet gives for light and dark.

use std::fmt::Write;

use super::html::escaped;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 28.0;
/// About so many ticks on an axis.
const TICKS: f64 = 5.0;
/// Beyond this, a tooltip a second would make the page slow.
const MAX_TOOLTIPS: usize = 1000;

/// One line of a chart.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: String,
    /// CSS class that gives the colour.
    pub(super) class: String,
    /// A value a second; none where nothing was measured.
    pub(super) values: Vec<Option<f64>>,
}

/// How the vertical axis runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// From zero to at least the greatest value.
    Linear,
    /// From zero to a hundred.
    Percent,
    /// By powers of ten around the values.
    Logarithmic,
}

/// A figure with its legend.
pub(super) fn chart(title: &str, scale: Scale, lines: &[Line]) -> String {
    let frame = Frame::new(scale, lines);
    let mut svg = format!(
        "<figure><figcaption>{title}</figcaption>{}<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">",
        legend(lines),
        title = escaped(title),
    );
    svg += &frame.grid();
    for line in lines {
        // Writing to a string cannot fail.
        let _ = write!(svg, "<path class=\"line {}\" d=\"{}\"/>", line.class, frame.path(line));
    }
    svg += &frame.tooltips(lines);
    svg + "</svg></figure>\n"
}

fn legend(lines: &[Line]) -> String {
    let item =
        |line: &Line| format!("<li><i class=\"{}\"></i>{}</li>", line.class, escaped(&line.name));
    format!("<ul class=\"legend\">{}</ul>", lines.iter().map(item).collect::<String>())
}

/// Where values are drawn.
struct Frame {
    scale: Scale,
    seconds: usize,
    low: f64,
    high: f64,
}

impl Frame {
    fn new(scale: Scale, lines: &[Line]) -> Self {
        let values = || lines.iter().flat_map(|line| &line.values).flatten().copied();
        let greatest = values().fold(0.0, f64::max);
        let least = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let (low, high) = match scale {
            Scale::Percent => (0.0, 100.0),
            Scale::Linear => (0.0, above(greatest)),
            Scale::Logarithmic => decades(least, greatest),
        };
        let seconds = lines.iter().map(|line| line.values.len()).max().unwrap_or_default();
        Self { scale, seconds, low, high }
    }

    fn x(&self, second: f64) -> f64 {
        LEFT + second / self.seconds.max(1) as f64 * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Logarithmic => {
                let value = value.clamp(self.low, self.high);
                (value / self.low).log10() / (self.high / self.low).log10()
            }
            Scale::Linear | Scale::Percent => value / self.high,
        };
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    }

    /// A line with gaps where there is no value; a lone value is a dot.
    fn path(&self, line: &Line) -> String {
        let mut path = String::new();
        let mut is_drawing = false;
        for (second, value) in line.values.iter().enumerate() {
            if let Some(value) = value {
                // In the middle of its second.
                let (x, y) = (self.x(second as f64 + 0.5), self.y(*value));
                let step = if is_drawing {
                    format!("L{x:.1} {y:.1}")
                } else {
                    format!("M{x:.1} {y:.1}h0")
                };
                path += &step;
            }
            is_drawing = value.is_some();
        }
        path
    }

    fn grid(&self) -> String {
        let mut grid = String::new();
        for tick in self.ticks() {
            let (y, right) = (self.y(tick), WIDTH - RIGHT);
            let _ = write!(
                grid,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.5,
                number(tick),
            );
        }
        let step = nice(self.seconds as f64 / TICKS).max(1.0);
        let mut second = 0.0;
        while second <= self.seconds as f64 {
            let _ = write!(
                grid,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{second}{}</text>",
                self.x(second),
                HEIGHT - 8.0,
                if second == 0.0 { " s" } else { "" },
            );
            second += step;
        }
        grid
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Percent => vec![0.0, 25.0, 50.0, 75.0, 100.0],
            Scale::Logarithmic => {
                let decades = (self.high / self.low).log10().round() as i32;
                (0..=decades).map(|power| self.low * 10_f64.powi(power)).collect()
            }
            Scale::Linear => {
                let step = nice(self.high / TICKS);
                let count = (self.high / step).floor() as u32;
                (0..=count).map(|index| step * f64::from(index)).collect()
            }
        }
    }

    fn tooltips(&self, lines: &[Line]) -> String {
        let mut text = String::new();
        if self.seconds > MAX_TOOLTIPS {
            return text;
        }
        let (width, height) = (self.x(1.0) - self.x(0.0), HEIGHT - TOP - BOTTOM);
        for second in 0..self.seconds {
            let x = self.x(second as f64);
            let _ = write!(
                text,
                "<rect class=\"hit\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height}\"><title>{second} s{}</title></rect>",
                lines.iter().map(|line| told(line, second)).collect::<String>(),
            );
        }
        text
    }
}

fn told(line: &Line, second: usize) -> String {
    match line.values.get(second).copied().flatten() {
        Some(value) => format!("\n{} {}", escaped(&line.name), number(value)),
        None => format!("\n{} -", escaped(&line.name)),
    }
}

/// Whole powers of ten that hold all values, at least one decade.
fn decades(least: f64, greatest: f64) -> (f64, f64) {
    if greatest <= 0.0 {
        return (1.0, 10.0);
    }
    let low = least.log10().floor();
    let high = greatest.log10().ceil().max(low + 1.0);
    (10_f64.powf(low), 10_f64.powf(high))
}

/// The smallest of 1, 2, 5, 10, 20, 50 ... that is not below the number.
fn nice(number: f64) -> f64 {
    if number <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(number.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= number * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

/// A whole number of ticks that is not below the value.
fn above(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let step = nice(value / TICKS);
    (value / step).ceil() * step
}

fn number(value: f64) -> String {
    if value >= 10_000.0 {
        let thousands = format!("{:.1}", value / 1000.0);
        return format!("{}k", thousands.trim_end_matches(".0"));
    }
    let digits = if value >= 100.0 || value == value.round() { 0 } else { 2 };
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[Option<f64>]) -> Line {
        Line { name: "ok".into(), class: "ok".into(), values: values.to_vec() }
    }

    #[test]
    fn axes_end_on_round_numbers() {
        assert_eq!([0.0, 1.0, 1.1, 3.0, 70.0].map(nice), [1.0, 1.0, 2.0, 5.0, 100.0]);
        assert_eq!([0.0, 9.0, 101.0].map(above), [1.0, 10.0, 150.0]);
        assert_eq!(decades(0.3, 45.0), (0.1, 100.0));
        assert_eq!(decades(10.0, 10.0), (10.0, 100.0));
        assert_eq!(decades(f64::INFINITY, 0.0), (1.0, 10.0));
    }

    #[test]
    fn a_missing_value_breaks_the_line() {
        let line = line(&[Some(1.0), None, Some(1.0), Some(1.0)]);
        let path = Frame::new(Scale::Linear, std::slice::from_ref(&line)).path(&line);
        assert_eq!(path.matches('M').count(), 2);
        assert_eq!(path.matches('L').count(), 1);
    }

    #[test]
    fn everything_is_drawn_inside_the_frame() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let line = line(&[Some(0.0), Some(0.02), Some(1e6)]);
            let frame = Frame::new(scale, std::slice::from_ref(&line));
            for value in line.values.iter().flatten() {
                let y = frame.y(*value);
                assert!((TOP - 0.1..=HEIGHT - BOTTOM + 0.1).contains(&y), "{scale:?} {value}: {y}");
            }
            assert!(frame.x(3.0) <= WIDTH - RIGHT);
        }
    }

    #[test]
    fn an_empty_chart_is_still_one() {
        let svg = chart("a < b", Scale::Logarithmic, &[line(&[])]);
        assert!(svg.contains("a &lt; b") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn large_numbers_are_short() {
        assert_eq!(
            [0.0, 0.25, 12.5, 100.0, 20_000.0, 12_500.0].map(number),
            ["0", "0.25", "12.5", "100", "20k", "12.5k"]
        );
    }
}
