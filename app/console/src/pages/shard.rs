//! One shard: where it is and why, how heavy, what it waits for, and its past.

use futures::future::join;
use maud::{Markup, html};
use plimsoll_wire::v1::{Event, ExplainShardResponse, HistoryRequest};
use serde::Deserialize;

use crate::app::App;
use crate::chart;
use crate::layout::{Page, Section, sentence};
use crate::parts::{self, Tone, badge, figure};
use crate::problem::Problem;
use crate::text;

use super::hosts::why;
use super::order::{self, Order, link};

/// Events of its history.
const EVENTS: u32 = 50;

/// What the address says.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Query {
    /// An order that was given a moment ago.
    #[serde(default)]
    done: String,
}

/// All that is drawn.
struct View<'a> {
    namespace: &'a str,
    now_ms: u64,
    shard: &'a ExplainShardResponse,
    events: &'a Result<Vec<Event>, Problem>,
    track: &'a [(u64, f64)],
    done: &'a str,
}

pub(super) async fn page(app: &App, namespace: &str, key: &str, query: &Query) -> Page {
    let request = HistoryRequest {
        namespace: namespace.to_owned(),
        shard_key: key.to_owned(),
        limit: EVENTS,
        ..Default::default()
    };
    let (shard, events) = join(app.wire.explain(namespace, key), app.wire.history(request)).await;
    let shard = match shard {
        Ok(shard) => shard,
        Err(problem) => return Page::problem(Section::Overview, &problem),
    };
    let now_ms = text::now_ms();
    let track = app.tracks.add(namespace, key, now_ms, shard.smoothed_load);
    let view = View {
        namespace,
        now_ms,
        shard: &shard,
        events: &events,
        track: &track,
        done: &query.done,
    };
    Page::live(format!("Shard {key}"), Section::Overview, view.draw())
}

impl View<'_> {
    fn draw(&self) -> Markup {
        let key = self.shard.shard_key.as_str();
        let way = [
            ("Namespaces", "/".to_owned()),
            (self.namespace, text::namespace_path(self.namespace)),
        ];
        html! {
            (parts::crumbs(&way, key))
            div.title {
                h1 { "Shard " span.key { (key) } }
                (self.order())
            }
            (order::notice(self.done, key))
            (self.drain())
            (self.figures())
            (self.reasons())
            section aria-labelledby="load" {
                div.heading {
                    h2 #load { "Load" }
                    p.legend { "since this page was opened" }
                }
                @if self.shard.smoothed_load.is_some() {
                    (chart::track(self.track))
                } @else {
                    p.empty { "Nobody has measured it yet." }
                }
            }
            (self.history())
        }
    }

    fn order(&self) -> Markup {
        let key = self.shard.shard_key.clone();
        let order = match self.shard.drain {
            Some(_) => Order::UndrainShard(key),
            None => Order::DrainShard(key),
        };
        html! { a.button href=(link(self.namespace, &order)) { (order.verb()) " shard" } }
    }

    fn drain(&self) -> Markup {
        html! {
            @if let Some(drain) = &self.shard.drain {
                div.notice.warm {
                    p {
                        strong { "Drained " }
                        @if let Some(at) = text::wire_ms(drain.drained_at.as_ref()) { (parts::ago(self.now_ms, at)) " " }
                        (why(drain))
                    }
                }
            }
        }
    }

    fn figures(&self) -> Markup {
        let ExplainShardResponse { phase, owner, generation, smoothed_load, owned_since, .. } =
            self.shard;
        let tone = match phase.as_str() {
            "owned" => Tone::Good,
            "unowned" => Tone::Bad,
            _ => Tone::Warm,
        };
        html! {
            dl.figures {
                div.figure { dt { "phase" } dd { (badge(phase, tone)) } }
                (figure("owner", if owner.is_empty() { "nobody" } else { owner.as_str() }, Tone::Plain))
                (figure("generation", generation.to_string(), Tone::Plain))
                (figure("smoothed load", text::measured(*smoothed_load), Tone::Plain))
                @if let Some(since) = text::wire_ms(owned_since.as_ref()) {
                    div.figure { dt { "since" } dd { (parts::ago(self.now_ms, since)) } }
                }
            }
        }
    }

    fn reasons(&self) -> Markup {
        let ExplainShardResponse { because, outlook, .. } = self.shard;
        html! {
            dl.reasons {
                @if !because.is_empty() {
                    dt { "Why it is here" }
                    dd { (sentence(because)) }
                }
                @if !outlook.is_empty() {
                    dt { "What comes next" }
                    dd { (sentence(outlook)) }
                }
            }
        }
    }

    fn history(&self) -> Markup {
        html! {
            section aria-labelledby="history" {
                h2 #history { "History" }
                @match self.events {
                    Ok(events) if events.is_empty() => p.empty { "The leader remembers nothing of it." },
                    Ok(events) => (parts::events(self.namespace, events)),
                    Err(problem) => p.empty { (problem.heading()) ": " (sentence(problem.text())) },
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::v1::Drain;

    use super::*;

    fn shard() -> ExplainShardResponse {
        ExplainShardResponse {
            shard_key: "a<b".into(),
            phase: "owned".into(),
            owner: "host-1".into(),
            generation: 12,
            smoothed_load: Some(6.75),
            owned_since: Some(text::to_wire(1000)),
            because: "its last host was too hot".into(),
            outlook: "it moved 12s ago and stays until its cooldown ends".into(),
            drain: None,
        }
    }

    fn draw(shard: &ExplainShardResponse) -> String {
        let events = Ok(Vec::new());
        let view = View {
            namespace: "orders",
            now_ms: 13_000,
            shard,
            events: &events,
            track: &[(1000, 6.0), (3000, 6.75)],
            done: "",
        };
        view.draw().into_string()
    }

    #[test]
    fn a_shard_says_where_it_is_and_why() {
        let text = draw(&shard());
        assert!(text.contains("a&lt;b") && !text.contains("a<b"), "{text}");
        assert!(text.contains("Its last host was too hot.") && text.contains("12 s ago"), "{text}");
        assert!(text.contains("6.75") && text.contains("track-plot"), "{text}");
        assert!(text.contains("do=drain-shard"), "{text}");
    }

    #[test]
    fn a_drained_shard_says_who_and_why_and_can_be_undrained() {
        let drain =
            Drain { drained_by: "ana".into(), reason: "kills hosts".into(), ..Default::default() };
        let text =
            draw(&ExplainShardResponse { drain: Some(drain), smoothed_load: None, ..shard() });
        assert!(
            text.contains("by ana: kills hosts") && text.contains("do=undrain-shard"),
            "{text}"
        );
        assert!(text.contains("Nobody has measured it yet"), "{text}");
    }
}
