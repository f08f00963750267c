//! Pieces that several pages are made of.

use maud::{Markup, html};
use plimsoll_wire::v1;

use crate::fleet::Trouble;
use crate::layout::sentence;
use crate::text;

/// How bad something is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Warm,
    Bad,
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warm => "warm",
            Self::Bad => "bad",
        }
    }

    /// Of a host, by what it carries over what it should.
    pub(crate) fn of_share(share: f64, bands: Bands) -> Self {
        match share {
            share if share > bands.upper => Self::Bad,
            share if share < bands.lower => Self::Plain,
            _ => Self::Good,
        }
    }
}

/// Times the mean: above `upper` a host is hot, below `lower` it has room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bands {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Bands {
    /// What passes for even where the planner has no bands to set.
    pub(crate) const EVEN: Self = Self { lower: 0.95, upper: 1.05 };

    /// From the settings of a namespace.
    pub(crate) fn of(described: &v1::DescribeNamespaceResponse) -> Self {
        use plimsoll_placement::policy::{Greedy, Mode};
        if mode(described) != Mode::Greedy.as_str() {
            return Self::EVEN;
        }
        let setting = |name: &str, default: f64| {
            let found = described.settings.iter().find(|(key, _)| key.ends_with(name));
            found.and_then(|(_, value)| value.parse().ok()).unwrap_or(default)
        };
        let default = Greedy::default();
        Self {
            lower: setting("hysteresis_lower_band", default.hysteresis_lower_band),
            upper: setting("hysteresis_upper_band", default.hysteresis_upper_band),
        }
    }
}

/// The planner of a namespace.
pub(crate) fn mode(described: &v1::DescribeNamespaceResponse) -> &str {
    described.settings.get("load_balancing_mode").map_or("", String::as_str)
}

/// One figure with its name.
pub(crate) fn figure(name: &str, value: impl Into<String>, tone: Tone) -> Markup {
    html! {
        div.figure {
            dt { (name) }
            dd class=(tone.class()) { (value.into()) }
        }
    }
}

/// A word in a frame.
pub(crate) fn badge(text: &str, tone: Tone) -> Markup {
    html! { span class=(format!("badge {}", tone.class())) { (text) } }
}

/// A time of day with the whole of it for who wants to know.
pub(crate) fn time(ms: u64) -> Markup {
    let date = text::date(ms);
    html! { time datetime=(text::rfc3339(ms)) title=(format!("{date} UTC")) { (text::clock(ms)) } }
}

/// How long ago; the script counts on.
pub(crate) fn ago(now_ms: u64, ms: u64) -> Markup {
    let date = text::date(ms);
    html! {
        time data-ago=(ms) datetime=(text::rfc3339(ms)) title=(format!("{date} UTC")) {
            (text::ago(now_ms, ms))
        }
    }
}

/// That the figures are old, and why. `taken_ms` is when they were taken.
pub(crate) fn stale(now_ms: u64, trouble: &Trouble, taken_ms: u64) -> Markup {
    html! {
        div.notice.warm role="status" {
            p {
                strong { "No answer since " (time(trouble.since_ms)) ". " }
                "What you see is of " (time(taken_ms)) ", " (ago(now_ms, taken_ms)) "."
            }
            p { (sentence(trouble.problem.text())) }
        }
    }
}

/// The way to a page: names with addresses, then the page itself.
pub(crate) fn crumbs(way: &[(&str, String)], here: &str) -> Markup {
    html! {
        nav.crumbs aria-label="Breadcrumb" {
            ol {
                @for (name, address) in way {
                    li { a href=(address) { (name) } }
                }
                li aria-current="page" { (here) }
            }
        }
    }
}

/// What keeps a namespace from being well; nothing if all is.
pub(crate) fn alarms(conditions: &[String]) -> Markup {
    html! {
        @if !conditions.is_empty() {
            ul.alarms aria-label="Alarms" {
                @for condition in conditions {
                    li { (sentence(condition)) }
                }
            }
        }
    }
}

/// An event of a history, as a row of a table.
pub(crate) fn event(namespace: &str, event: &v1::Event) -> Markup {
    let at = text::wire_ms(event.at.as_ref()).unwrap_or_default();
    let permalink = format!("{}/events?until={at}#t{at}", text::namespace_path(namespace));
    html! {
        tr id=(format!("t{at}")) {
            td.when { a href=(permalink) title="Link to this event" { (time(at)) } }
            td { (badge(&event.kind, event_tone(&event.kind))) }
            td.key {
                @if !event.shard_key.is_empty() {
                    a href=(text::shard_path(namespace, &event.shard_key)) { (event.shard_key) }
                }
            }
            td.key { (event.executor_id) }
            td.text { (event.detail) }
        }
    }
}

/// The table around [`event`]s.
pub(crate) fn events(namespace: &str, all: &[v1::Event]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Events" {
            table.events {
                thead {
                    tr {
                        th scope="col" { "Time (UTC)" }
                        th scope="col" { "What" }
                        th scope="col" { "Shard" }
                        th scope="col" { "Executor or host" }
                        th scope="col" { "Why" }
                    }
                }
                tbody { @for one in all { (event(namespace, one)) } }
            }
        }
    }
}

fn event_tone(kind: &str) -> Tone {
    match kind {
        "expired" | "failed" | "quarantined" | "mass-failure" | "state-lost" => Tone::Bad,
        "shard-drained" | "host-drained" | "frozen" | "stalled" | "prepare-failed" | "reset" => {
            Tone::Warm
        }
        "joined" | "led" => Tone::Good,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;

    fn described(settings: &[(&str, &str)]) -> v1::DescribeNamespaceResponse {
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        v1::DescribeNamespaceResponse { settings: settings.collect(), ..Default::default() }
    }

    #[test]
    fn bands_are_those_of_the_mode() {
        let mode = ("load_balancing_mode", "greedy");
        let upper = ("load_balancing_greedy.hysteresis_upper_band", "1.2");
        assert_eq!(Bands::of(&described(&[mode, upper])), Bands { lower: 0.9, upper: 1.2 });
        let adaptive = ("load_balancing_mode", "adaptive");
        assert_eq!(Bands::of(&described(&[adaptive, upper])), Bands::EVEN);
    }

    #[test]
    fn old_figures_say_how_old_they_are_and_why() {
        let problem = Problem::Away("no server leads orders at the moment: try again".into());
        let trouble = Trouble { since_ms: 1_764_529_452_000, problem };
        let text = stale(1_764_529_462_000, &trouble, 1_764_529_450_000).into_string();
        assert!(text.contains("19:04:12") && text.contains("12 s ago"), "{text}");
        assert!(text.contains("No server leads orders at the moment: try again."), "{text}");
    }
}
