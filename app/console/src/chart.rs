//! Lines over time: drawn here as SVG, and again by the script where there is one, to
//! be read point by point.

use maud::{Markup, html};
use serde_json::json;

use crate::fleet::Point;
use crate::text;

/// Points of a chart: more would not show.
pub(crate) const POINTS: usize = 240;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 150.0;

/// One line: its name, its class, and a value a time.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) class: &'a str,
    pub(crate) values: Vec<f64>,
}

/// Hottest, mean and coldest host over time.
pub(crate) fn balance(points: &[Point]) -> Markup {
    let times: Vec<_> = points.iter().map(|point| point.at_ms).collect();
    let of = |value: fn(&Point) -> f64| points.iter().map(value).collect();
    let lines = [
        Line { name: "hottest", class: "hot", values: of(|it| it.max) },
        Line { name: "mean", class: "mid", values: of(|it| it.mean) },
        Line { name: "coldest", class: "cold", values: of(|it| it.min) },
    ];
    chart("balance", "Load of the hottest, the mean and the coldest host", &times, &lines)
}

/// The load of one shard over time.
pub(crate) fn track(track: &[(u64, f64)]) -> Markup {
    let times: Vec<_> = track.iter().map(|(at, _)| *at).collect();
    let values = track.iter().map(|(_, load)| *load).collect();
    chart("track", "Load of the shard", &times, &[Line { name: "load", class: "mid", values }])
}

fn chart(id: &str, caption: &str, times: &[u64], lines: &[Line<'_>]) -> Markup {
    if times.len() < 2 {
        return html! { p.empty { "The first points come in a few seconds." } };
    }
    let top = top(lines);
    html! {
        figure.chart {
            figcaption {
                (caption)
                " "
                @for line in lines { span class=(format!("key {}", line.class)) { (line.name) } }
            }
            div.plot id=(format!("{id}-plot")) hx-morph-skip="true" data-from=(format!("{id}-data")) {
                svg viewBox="0 0 600 150" preserveAspectRatio="none" role="img"
                    aria-label=(label(caption, times, lines)) {
                    @for line in lines {
                        polyline class=(format!("line {}", line.class))
                            points=(polyline(times, &line.values, top)) {}
                    }
                }
            }
            p.axis aria-hidden="true" {
                span { (text::clock(times[0])) }
                span { "top: " (text::load(top)) }
                span { (text::clock(times[times.len() - 1])) }
            }
            div id=(format!("{id}-data")) hidden data-points=(data(times, lines))
                data-names=(names(lines)) {}
        }
    }
}

/// A small line without axes.
pub(crate) fn spark(values: &[f64], label: &str) -> Markup {
    let times: Vec<u64> = (0..values.len() as u64).collect();
    // A line along the top of an hour in which nothing happened says nothing.
    let highest = values.iter().copied().fold(0.0, f64::max) - 1.0;
    let over_even: Vec<f64> = values.iter().map(|value| (value - 1.0).max(0.0)).collect();
    html! {
        @if values.len() > 1 {
            svg.spark viewBox="0 0 600 150" preserveAspectRatio="none" role="img" aria-label=(label) {
                polyline.line.hot points=(polyline(&times, &over_even, highest.max(0.5))) {}
            }
        }
    }
}

/// The value at the upper edge.
fn top(lines: &[Line<'_>]) -> f64 {
    let values = lines.iter().flat_map(|line| line.values.iter().copied());
    let highest = values.fold(0.0, f64::max);
    if highest > 0.0 { highest * 1.05 } else { 1.0 }
}

fn polyline(times: &[u64], values: &[f64], top: f64) -> String {
    let (first, last) = match times {
        [first, .., last] => (*first, *last),
        _ => return String::new(),
    };
    let span = (last - first).max(1) as f64;
    let place = |(at, value): (&u64, &f64)| {
        let x = (at - first) as f64 / span * WIDTH;
        let y = HEIGHT - (value / top).clamp(0.0, 1.0) * (HEIGHT - 4.0) - 2.0;
        format!("{x:.0},{y:.1}")
    };
    times.iter().zip(values).map(place).collect::<Vec<_>>().join(" ")
}

fn label(caption: &str, times: &[u64], lines: &[Line<'_>]) -> String {
    let ends = |line: &Line<'_>| {
        let [first, last] = [line.values.first(), line.values.last()].map(|it| it.copied());
        let text = |value: Option<f64>| text::load(value.unwrap_or_default());
        format!("{} from {} to {}", line.name, text(first), text(last))
    };
    let ends: Vec<_> = lines.iter().map(ends).collect();
    let (first, last) = (text::clock(times[0]), text::clock(times[times.len() - 1]));
    format!("{caption}, {first} to {last} UTC: {}", ends.join(", "))
}

/// Seconds and values, as uPlot takes them.
fn data(times: &[u64], lines: &[Line<'_>]) -> String {
    let seconds: Vec<_> = times.iter().map(|ms| *ms as f64 / 1000.0).collect();
    let mut columns = vec![json!(seconds)];
    columns.extend(lines.iter().map(|line| json!(line.values)));
    json!(columns).to_string()
}

fn names(lines: &[Line<'_>]) -> String {
    let names: Vec<_> = lines.iter().map(|line| json!([line.name, line.class])).collect();
    json!(names).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_ms: u64, max: f64) -> Point {
        Point { at_ms, max, mean: 1.0, min: 0.5, moves: 0 }
    }

    #[test]
    fn a_chart_reads_without_a_script() {
        let svg = balance(&[point(0, 2.0), point(5000, 1.0)]).into_string();
        assert!(svg.contains("hottest from 2.00 to 1.00"), "{svg}");
        assert!(
            svg.contains(r#"data-points="[[0.0,5.0],[2.0,1.0],[1.0,1.0],[0.5,0.5]]""#),
            "{svg}"
        );
    }

    #[test]
    fn one_point_is_no_line() {
        assert!(balance(&[point(0, 2.0)]).into_string().contains("first points"));
        assert_eq!(spark(&[1.0], "x").into_string(), "");
    }

    #[test]
    fn an_idle_hour_has_no_figures_that_are_no_numbers() {
        let svg = balance(&[point(0, 0.0), point(0, 0.0)]).into_string();
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
