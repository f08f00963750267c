//! The bar of a host: a stack of its shards against the mean and the bands, as SVG, so
//! that it reads without a script. Shards that moved are coloured until they may move
//! again, and fade as that comes nearer.

use std::time::Duration;

use maud::{Markup, html};
use plimsoll_wire::v1::ExecutorLoad;

use crate::parts::Bands;
use crate::text;

/// Units from end to end.
const WIDTH: f64 = 1000.0;
/// Narrower than this, in units, a shard is not drawn by itself.
const LEAST: f64 = 2.0;

/// A host to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) load: f64,
    /// Above 0.
    pub(crate) capacity: f64,
    pub(crate) shards: u64,
    /// The largest first.
    pub(crate) blocks: Vec<Block>,
}

/// A shard in a bar, or several as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) title: String,
    /// Where its page is; several have none.
    pub(crate) address: Option<String>,
    pub(crate) load: f64,
    /// The part of its cooldown that is left, 0 to 1.
    pub(crate) heat: f64,
    /// It stands for several.
    pub(crate) is_rest: bool,
}

/// From loads to places, and what stands in every bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// The load that fills a bar.
    pub(crate) full: f64,
    /// Per unit of capacity.
    pub(crate) mean: f64,
    /// `None`: the planner knows none.
    pub(crate) bands: Option<Bands>,
}

impl Scale {
    /// The bands of the largest host stay in sight even if everybody is below them.
    pub(crate) fn over(bars: &[Bar], mean: f64, bands: Option<Bands>) -> Self {
        let upper = bands.map_or(1.0, |bands| bands.upper);
        let needed = bars.iter().map(|bar| bar.load.max(bar.capacity * mean * upper));
        Self { full: needed.fold(0.0, f64::max) * 1.02, mean, bands }
    }

    fn place(&self, load: f64) -> f64 {
        if self.full > 0.0 { (load / self.full * WIDTH).clamp(0.0, WIDTH) } else { 0.0 }
    }
}

impl Bar {
    /// The bar of an executor; `cooldown` is how long a shard stays that has moved.
    pub(crate) fn of(namespace: &str, executor: &ExecutorLoad, cooldown: Duration) -> Self {
        let mut blocks = Vec::new();
        let (mut drawn, mut drawn_cooling, mut cooling) = (0.0, 0.0, 0);
        for shard in &executor.largest {
            let load = shard.smoothed_load.unwrap_or(0.0);
            let left = text::wire_span(shard.cooldown_left.as_ref());
            drawn += load;
            if left.is_some() {
                drawn_cooling += load;
                cooling += 1;
            }
            blocks.push(Block {
                title: shard_title(&shard.shard_key, load, left),
                address: Some(text::shard_path(namespace, &shard.shard_key)),
                load,
                heat: left.map_or(0.0, |left| heat(left, cooldown)),
                is_rest: false,
            });
        }
        let rest = Rest {
            shards: executor.shards.saturating_sub(executor.largest.len() as u64),
            load: executor.load - drawn,
            cooling: executor.cooling_shards.saturating_sub(cooling),
            cooling_load: executor.cooling_load - drawn_cooling,
        };
        blocks.extend(rest.blocks());
        Self {
            name: executor.executor_id.clone(),
            load: executor.load,
            capacity: if executor.capacity > 0.0 { executor.capacity } else { 1.0 },
            shards: executor.shards,
            blocks,
        }
    }

    /// What it carries over what a host of its capacity carries on average.
    pub(crate) fn share(&self, mean: f64) -> f64 {
        if mean > 0.0 { self.load / self.capacity / mean } else { 1.0 }
    }

    /// As SVG, as wide as there is room.
    pub(crate) fn draw(&self, scale: &Scale) -> Markup {
        let at = |times: f64| scale.place(self.capacity * scale.mean * times);
        let has_links = self.blocks.iter().any(|block| block.address.is_some());
        html! {
            // With links in it, it cannot be one picture: then the row around it says all.
            svg.bar viewBox="0 0 1000 24" preserveAspectRatio="none"
                role=[(!has_links).then_some("img")]
                aria-label=[(!has_links).then(|| self.label(scale))]
                aria-hidden=[has_links.then_some("true")] {
                @if let Some(bands) = scale.bands {
                    (rect("band", at(bands.lower), at(bands.upper) - at(bands.lower), 0.0, 24.0))
                }
                (self.stack(scale))
                @if let Some(over) = self.over(scale) {
                    (rect("over", over, scale.place(self.load) - over, 20.0, 3.0))
                }
                line.mean x1=(number(at(1.0))) x2=(number(at(1.0))) y1="0" y2="24" {}
            }
        }
    }

    fn stack(&self, scale: &Scale) -> Markup {
        let mut from = 0.0;
        let places: Vec<_> = self
            .blocks
            .iter()
            .map(|block| {
                let begin = from;
                from += scale.place(block.load);
                (block, begin, scale.place(block.load))
            })
            .collect();
        html! {
            @for (block, begin, width) in places {
                @if width > 0.0 { (block.draw(begin, width)) }
            }
        }
    }

    /// Where it begins to be too hot.
    fn over(&self, scale: &Scale) -> Option<f64> {
        let upper = self.capacity * scale.mean * scale.bands?.upper;
        (self.load > upper && upper > 0.0).then(|| scale.place(upper))
    }

    fn label(&self, scale: &Scale) -> String {
        let Self { name, load, shards, .. } = self;
        let (load, shards) = (text::load(*load), text::counted(*shards, "shard"));
        format!("{name}: load {load} in {shards}, {:.2} of its share", self.share(scale.mean))
    }
}

impl Block {
    fn draw(&self, begin: f64, width: f64) -> Markup {
        let class = match (self.heat, self.is_rest) {
            (heat, _) if heat > 0.66 => "moved moved-3",
            (heat, _) if heat > 0.33 => "moved moved-2",
            (heat, _) if heat > 0.0 => "moved moved-1",
            (_, true) => "rest",
            (_, false) if width < LEAST => "rest",
            (_, false) => "shard",
        };
        let block = html! {
            rect class=(class) x=(number(begin)) width=(number(width)) y="4" height="16" {
                title { (self.title) }
            }
        };
        match &self.address {
            // The table of shards is the way there by keyboard.
            Some(address) if width >= LEAST => {
                html! { a href=(address) tabindex="-1" { (block) } }
            }
            _ => block,
        }
    }
}

/// The shards that are not drawn one by one.
struct Rest {
    shards: u64,
    load: f64,
    cooling: u64,
    cooling_load: f64,
}

impl Rest {
    fn blocks(&self) -> Vec<Block> {
        let cooling = Block {
            title: format!("{} that moved lately", text::counted(self.cooling, "smaller shard")),
            load: self.cooling_load.max(0.0),
            heat: 0.5,
            is_rest: true,
            address: None,
        };
        let settled = Block {
            title: text::counted(self.shards.saturating_sub(self.cooling), "smaller shard"),
            load: (self.load - self.cooling_load.max(0.0)).max(0.0),
            heat: 0.0,
            is_rest: true,
            address: None,
        };
        let is_there = |block: &Block| block.load > 0.0;
        [settled, cooling].into_iter().filter(is_there).collect()
    }
}

/// The part of a cooldown that is left; a little of it as long as there is any.
pub(crate) fn heat(left: Duration, cooldown: Duration) -> f64 {
    if cooldown.is_zero() {
        0.0
    } else {
        (left.as_secs_f64() / cooldown.as_secs_f64()).clamp(0.01, 1.0)
    }
}

fn shard_title(key: &str, load: f64, left: Option<Duration>) -> String {
    let load = text::load(load);
    match left {
        Some(left) => format!("shard {key}: {load}; it moved and stays for {}", text::span(left)),
        None => format!("shard {key}: {load}"),
    }
}

fn rect(class: &str, x: f64, width: f64, y: f64, height: f64) -> Markup {
    html! {
        rect class=(class) x=(number(x)) width=(number(width.max(0.0))) y=(number(y))
            height=(number(height)) {}
    }
}

/// To a tenth of a unit: as fine as it shows.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::v1::OwnedLoad;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn owned(key: &str, load: f64, left: Option<i64>) -> OwnedLoad {
        OwnedLoad {
            shard_key: key.to_owned(),
            smoothed_load: Some(load),
            cooldown_left: left.map(|seconds| prost_types::Duration { seconds, nanos: 0 }),
            ..OwnedLoad::default()
        }
    }

    fn executor() -> ExecutorLoad {
        ExecutorLoad {
            executor_id: "host-1".to_owned(),
            load: 100.0,
            shards: 10,
            capacity: 2.0,
            largest: vec![owned("a<b", 40.0, None), owned("b", 30.0, Some(59))],
            cooling_shards: 3,
            cooling_load: 35.0,
            ..ExecutorLoad::default()
        }
    }

    #[test]
    fn a_bar_holds_all_that_its_host_carries() {
        let bar = Bar::of("n", &executor(), MINUTE);
        let loads: Vec<_> = bar.blocks.iter().map(|it| (it.load, it.heat > 0.0)).collect();
        assert_eq!(loads, [(40.0, false), (30.0, true), (25.0, false), (5.0, true)]);
        assert_eq!(bar.blocks[2].title, "6 smaller shards");
        assert_eq!(bar.share(25.0), 2.0);
    }

    #[test]
    fn a_bar_shows_mean_bands_and_what_is_too_much_and_escapes_keys() {
        let bar = Bar::of("n", &executor(), MINUTE);
        let bands = Some(Bands { lower: 0.9, upper: 1.1 });
        let scale = Scale { full: 100.0, mean: 40.0, bands };
        let svg = bar.draw(&scale).into_string();
        assert!(svg.contains(r#"<line class="mean" x1="800" x2="800""#), "{svg}");
        assert!(svg.contains(r#"<rect class="band" x="720" width="160""#), "{svg}");
        assert!(svg.contains(r#"<rect class="over" x="880" width="120""#), "{svg}");
        assert!(svg.contains("moved-3") && svg.contains("a&lt;b") && !svg.contains("a<b"));
        assert!(svg.contains(r#"aria-hidden="true""#), "{svg}");
    }

    #[test]
    fn a_bar_without_links_is_a_picture_with_a_name() {
        let bar = Bar::of("n", &ExecutorLoad { largest: Vec::new(), ..executor() }, MINUTE);
        let svg = bar.draw(&Scale { full: 100.0, mean: 40.0, bands: None }).into_string();
        assert!(svg.contains("host-1: load 100.0 in 10 shards, 1.25 of its share"), "{svg}");
        assert!(svg.contains(r#"role="img""#) && !svg.contains("aria-hidden"), "{svg}");
    }

    #[test]
    fn hosts_without_load_have_empty_bars() {
        let bars = [Bar { capacity: 1.0, ..Bar::default() }];
        let scale = Scale::over(&bars, 0.0, Some(Bands::EVEN));
        let svg = bars[0].draw(&scale).into_string();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
