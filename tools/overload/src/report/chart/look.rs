//! Colours, and their dark counterparts.

use plotters::style::{IntoFont, RGBColor, TextStyle};

use crate::shedders::Shedder;

pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);
pub(super) const INK: RGBColor = RGBColor(31, 35, 40);
pub(super) const RULE: RGBColor = RGBColor(209, 217, 224);
/// A second bar beside one of [`color`].
pub(super) const SECOND: RGBColor = RGBColor(140, 149, 159);

/// What the light colours become on a dark screen. Lines keep theirs, which are
/// bright enough for both.
const DARK: [(&str, &str); 3] =
    [("#FFFFFF", "#0d1117"), ("#1F2328", "#e6edf3"), ("#D1D9E0", "#30363d")];

/// A shedder's colour, the same on every chart.
pub(super) fn color(shedder: Shedder) -> RGBColor {
    match shedder {
        Shedder::Plimsoll | Shedder::PlimsollFixed => RGBColor(218, 54, 51),
        Shedder::None => RGBColor(125, 133, 144),
        Shedder::QalmDequeue => RGBColor(31, 111, 235),
        Shedder::QalmArrival => RGBColor(56, 163, 245),
        Shedder::NetflixGradient2 | Shedder::NetflixVegas => RGBColor(35, 134, 54),
        Shedder::Cinnamon => RGBColor(191, 135, 0),
        Shedder::Dagor => RGBColor(137, 87, 229),
        Shedder::FollyCodel | Shedder::PriorityCodel => RGBColor(219, 97, 162),
        _ => RGBColor(27, 152, 140),
    }
}

/// Text of that size in pixels.
pub(super) fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// The drawing with a style sheet for dark screens.
pub(super) fn themed(svg: &str) -> String {
    let swap = |(light, dark): (&str, &str)| {
        format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
    };
    let swaps: String = DARK.into_iter().map(swap).collect();
    let style = format!("<style>@media (prefers-color-scheme: dark){{{swaps}}}</style>");
    match svg.find('>') {
        Some(end) => format!("{}\n{style}{}", &svg[..=end], &svg[end + 1..]),
        None => svg.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_comes_first_and_names_the_colours_that_are_drawn() {
        let themed = themed("<svg width=\"1\"><rect fill=\"#FFFFFF\"/></svg>");
        assert!(themed.starts_with("<svg width=\"1\">\n<style>"));
        let names = [PAPER, INK, RULE].map(|it| format!("#{:02X}{:02X}{:02X}", it.0, it.1, it.2));
        assert_eq!(names, DARK.map(|(light, _)| light.to_owned()));
    }
}
