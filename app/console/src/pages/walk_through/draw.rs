//! The walk-through as a page.

use std::sync::Arc;

use maud::{Markup, html};
use plimsoll_placement::policy::{Greedy, Mode};

use crate::bars::{Bar, Block, Scale};
use crate::layout::sentence;
use crate::parts::{Bands, Tone, figure};
use crate::text;
use crate::walk::{HostScene, Scene, ShardScene, Walk};

use super::Where;
use super::shelf::SHIPPED;

/// Shards that are drawn one by one, beside those that moved.
const LARGEST: usize = 24;

/// All that is drawn.
pub(super) struct View<'a> {
    pub(super) state: &'a Where,
    pub(super) title: &'a str,
    pub(super) walks: &'a [Arc<Walk>],
    /// Of the longest.
    pub(super) steps: usize,
    pub(super) token: &'a str,
    pub(super) namespaces: Vec<String>,
}

impl View<'_> {
    pub(super) fn draw(&self) -> Markup {
        html! {
            h1 { "How placement works, move by move" }
            p.lead {
                "A snapshot of shards and their loads, balanced by the planner that runs in "
                "production. A shard turns blue when it moves, and fades as its cooldown runs "
                "out. Here a cycle comes every 15 s."
            }
            (self.choices())
            div #walk data-play=[self.next_by_itself()] {
                p.source { (self.title) }
                (self.controls())
                div class=(if self.walks.len() > 1 { "panels two" } else { "panels" }) {
                    @for walk in self.walks { (panel(walk, self.state.step)) }
                }
            }
            (self.others())
        }
    }

    /// Where it goes on by itself, if it does.
    pub(super) fn next_by_itself(&self) -> Option<String> {
        let next = self.state.step + 1;
        (self.is_playing() && next < self.steps).then(|| self.state.at(next, true))
    }

    fn is_playing(&self) -> bool {
        !self.state.play.is_empty()
    }

    fn choices(&self) -> Markup {
        let Where { source, left, right, .. } = self.state;
        let is_shipped = SHIPPED.iter().any(|(name, _)| name == source);
        html! {
            form.filters action="/walk-through" {
                p {
                    label for="source" { "Snapshot" }
                    select #source name="source" {
                        @if !is_shipped { option value=(source) selected { (self.title) } }
                        @for (name, title) in SHIPPED {
                            option value=(name) selected[name == source] { (title) }
                        }
                    }
                }
                p {
                    label for="left" { "Planner" }
                    (modes("left", left, None))
                }
                p {
                    label for="right" { "Beside it" }
                    (modes("right", right, Some("none")))
                }
                p { button type="submit" { "Show" } }
            }
        }
    }

    fn controls(&self) -> Markup {
        let (step, last) = (self.state.step, self.steps - 1);
        let to = |step: usize| self.state.at(step, false);
        html! {
            nav.steps aria-label="Steps" {
                (control("First", (step > 0).then(|| to(0)), ""))
                (control("Back", (step > 0).then(|| to(step - 1)), "ArrowLeft"))
                span.step { "Step " strong { (step + 1) } " of " (self.steps) }
                (control("Next", (step < last).then(|| to(step + 1)), "ArrowRight"))
                @if last > 12 { (control("+10", (step + 10 <= last).then(|| to(step + 10)), "")) }
                (control("Last", (step < last).then(|| to(last)), ""))
                @if self.next_by_itself().is_some() {
                    (control("Pause", Some(to(step)), ""))
                } @else {
                    (control("Play", (step < last).then(|| self.state.at(step, true)), ""))
                }
            }
        }
    }

    fn others(&self) -> Markup {
        html! {
            div.columns {
                section aria-labelledby="own" {
                    h2 #own { "A namespace as it is now" }
                    @if self.namespaces.is_empty() {
                        p.empty { "This server has none." }
                    } @else {
                        form.filters action="/walk-through/live" {
                            p {
                                label for="namespace" { "Namespace" }
                                select #namespace name="namespace" {
                                    @for name in &self.namespaces { option { (name) } }
                                }
                            }
                            p { button type="submit" { "Take a snapshot" } }
                        }
                    }
                }
                section aria-labelledby="file" {
                    h2 #file { "A file" }
                    form.filters action="/walk-through" method="post" enctype="multipart/form-data" {
                        input type="hidden" name="token" value=(self.token);
                        p {
                            label for="csv" { "CSV with shard,load,host" }
                            input #csv name="file" type="file" accept=".csv,text/csv,text/plain" required;
                        }
                        p { button type="submit" { "Upload" } }
                    }
                    p.muted { code { "smctl --namespace NAME namespace snapshot" } " writes one." }
                }
            }
        }
    }
}

fn modes(name: &str, chosen: &str, none: Option<&str>) -> Markup {
    html! {
        select id=(name) name=(name) {
            @if let Some(none) = none { option value="" { (none) } }
            @for mode in Mode::ALL {
                option value=(mode.as_str()) selected[mode.as_str() == chosen] { (mode.as_str()) }
            }
        }
    }
}

/// A link, or the same as text where it would lead nowhere.
fn control(name: &str, address: Option<String>, key: &str) -> Markup {
    html! {
        @match address {
            Some(address) => {
                a.button id=(format!("step-{}", name.to_lowercase().replace('+', "by"))) href=(address) data-step
                    data-key=[(!key.is_empty()).then_some(key)] { (name) }
            }
            None => span.button.off { (name) },
        }
    }
}

fn panel(walk: &Walk, step: usize) -> Markup {
    let (scene, first) = (walk.scene(step), walk.scene(0));
    let bands = bands(walk.mode);
    let mean = scene.balance.mean;
    let bars: Vec<_> = scene.hosts.iter().map(bar).collect();
    let firsts: Vec<_> = first.hosts.iter().map(bar).collect();
    // Over the beginning, too, so that what has moved does not change the measure.
    let scale = Scale::over(&[bars.clone(), firsts].concat(), mean, bands);
    let mode = walk.mode.as_str();
    html! {
        section.panel aria-label=(mode) {
            h2 { (mode) }
            p.sentence role="status" { (sentence(&scene.sentence)) }
            (figures(&scene))
            ol.stacks {
                @for (host, bar) in scene.hosts.iter().zip(&bars) {
                    (stack(host, bar, &scale))
                }
            }
        }
    }
}

fn figures(scene: &Scene) -> Markup {
    let made = scene.step.min(scene.steps.saturating_sub(2));
    html! {
        dl.figures {
            (figure("moves", made.to_string(), Tone::Plain))
            (figure("max/mean", format!("{:.3}", scene.balance.max_over_mean()), Tone::Plain))
            (figure("spread", text::percent(scene.balance.spread), Tone::Plain))
        }
    }
}

fn stack(host: &HostScene, bar: &Bar, scale: &Scale) -> Markup {
    let share = bar.share(scale.mean);
    let tone = scale.bands.map_or(Tone::Plain, |bands| Tone::of_share(share, bands));
    html! {
        li {
            span.key { (host.name) }
            (bar.draw(scale))
            strong class=(format!("n {}", tone.class())) { (format!("{share:.2}")) }
        }
    }
}

fn bar(host: &HostScene) -> Bar {
    let draws = |(place, shard): &(usize, &ShardScene)| *place < LARGEST || shard.heat > 0.0;
    let (drawn, rest): (Vec<_>, Vec<_>) = host.shards.iter().enumerate().partition(draws);
    let mut blocks: Vec<_> = drawn.into_iter().map(|(_, shard)| block(shard)).collect();
    if !rest.is_empty() {
        blocks.push(Block {
            title: text::counted(rest.len() as u64, "smaller shard"),
            load: rest.iter().map(|(_, shard)| shard.load).sum(),
            is_rest: true,
            ..Block::default()
        });
    }
    Bar {
        name: host.name.clone(),
        load: host.load,
        capacity: 1.0,
        shards: host.shards.len() as u64,
        blocks,
    }
}

fn block(shard: &ShardScene) -> Block {
    let title = format!("shard {}: {}", shard.key, text::load(shard.load));
    Block { title, load: shard.load, heat: shard.heat, ..Block::default() }
}

fn bands(mode: Mode) -> Option<Bands> {
    let greedy = Greedy::default();
    match mode {
        Mode::Greedy => {
            Some(Bands { lower: greedy.hysteresis_lower_band, upper: greedy.hysteresis_upper_band })
        }
        Mode::Adaptive => Some(Bands::EVEN),
        Mode::Ring | Mode::Naive => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_placement::snapshot::Snapshot;

    use super::*;

    fn draw(step: usize, play: &str) -> String {
        let snapshot = Snapshot::parse(include_str!("../../../assets/six-hosts.csv")).unwrap();
        let walks = [Mode::Greedy, Mode::Ring].map(|mode| Arc::new(Walk::of(&snapshot, mode)));
        let state = Where {
            source: "seed".into(),
            left: "greedy".into(),
            right: "ring".into(),
            step,
            play: play.into(),
        };
        let steps = walks[0].steps();
        let (title, token) = ("six <hosts>", "t");
        let namespaces = Vec::new();
        View { state: &state, title, walks: &walks, steps, token, namespaces }.draw().into_string()
    }

    #[test]
    fn next_and_back_are_links() {
        let text = draw(1, "");
        assert!(text.contains("&amp;step=2\" data-step data-key=\"ArrowRight\""), "{text}");
        assert!(text.contains("&amp;step=0\" data-step data-key=\"ArrowLeft\""), "{text}");
        assert!(!text.contains("data-play=") && text.contains("Play"), "{text}");
        assert!(text.contains("six &lt;hosts&gt;"), "{text}");
    }

    #[test]
    fn two_planners_stand_side_by_side() {
        let text = draw(1, "");
        assert!(text.contains("panels two") && text.matches("<ol").count() == 2, "{text}");
    }

    #[test]
    fn it_plays_until_the_end() {
        assert!(draw(1, "1").contains("data-play=\"/walk-through?source=seed&amp;left=greedy&amp;right=ring&amp;step=2&amp;play=1\""));
        let end = draw(5, "1");
        assert!(!end.contains("data-play="), "{end}");
        assert!(end.contains(r#"<span class="button off">Next</span>"#), "{end}");
    }
}
