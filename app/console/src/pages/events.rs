//! What happened in a namespace, newest first, with filters. The address holds them
//! all, so that it can be sent to others.

use maud::{Markup, html};
use plimsoll_wire::v1::{Event, HistoryRequest};
use serde::Deserialize;

use crate::app::App;
use crate::layout::{Page, Section};
use crate::parts;
use crate::text;

use super::namespace::tabs;

/// Events a page.
const PAGE: u32 = 200;

/// Kinds that can be asked for, with names for people; each is one or several of the
/// wire's.
const KINDS: [(&str, &str, &[&str]); 6] = [
    (
        "moves",
        "moves and grants",
        &["granted", "revoked", "stopped", "preparing", "prepare-failed", "adopted", "state-lost"],
    ),
    (
        "failures",
        "failures and deaths",
        &["failed", "expired", "quarantined", "mass-failure", "stalled"],
    ),
    (
        "orders",
        "orders",
        &[
            "shard-drained",
            "shard-undrained",
            "host-drained",
            "host-undrained",
            "frozen",
            "resumed",
            "settings-changed",
            "reset",
        ],
    ),
    ("quarantines", "quarantines", &["quarantined"]),
    ("executors", "executors", &["joined", "leaving", "left", "away", "expired"]),
    ("leaders", "leaders", &["led"]),
];

/// What the address says.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Query {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    shard: String,
    #[serde(default)]
    executor: String,
    /// Milliseconds since 1970: nothing after that.
    until: Option<u64>,
}

pub(super) async fn page(app: &App, name: &str, query: &Query) -> Page {
    match app.wire.history(query.request(name)).await {
        Ok(events) => {
            let main = draw(name, query, &events);
            let page = Page::live(format!("Events of {name}"), Section::Overview, main);
            // What is past stays as it is.
            Page { is_live: query.until.is_none(), ..page }
        }
        Err(problem) => Page::problem(Section::Overview, &problem),
    }
}

impl Query {
    fn request(&self, namespace: &str) -> HistoryRequest {
        let kinds = KINDS.iter().find(|(name, ..)| *name == self.kind);
        HistoryRequest {
            namespace: namespace.to_owned(),
            shard_key: self.shard.clone(),
            executor_id: self.executor.clone(),
            kinds: kinds
                .map_or(&[] as &[&str], |(.., kinds)| kinds)
                .iter()
                .map(|it| (*it).to_owned())
                .collect(),
            until: self.until.map(text::to_wire),
            limit: PAGE,
        }
    }

    /// The same with another end.
    fn address(&self, namespace: &str, until: Option<u64>) -> String {
        let fields = [("kind", &self.kind), ("shard", &self.shard), ("executor", &self.executor)];
        let mut pairs: Vec<_> = fields
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", text::encoded(value)))
            .collect();
        pairs.extend(until.map(|until| format!("until={until}")));
        format!("{}/events?{}", text::namespace_path(namespace), pairs.join("&"))
    }

    fn is_filter(&self) -> bool {
        !(self.kind.is_empty() && self.shard.is_empty() && self.executor.is_empty())
    }
}

fn draw(name: &str, query: &Query, events: &[Event]) -> Markup {
    html! {
        (parts::crumbs(&[("Namespaces", "/".to_owned()), (name, text::namespace_path(name))], "Events"))
        div.title { h1 { "Events of " (name) } }
        (tabs(name, "Events"))
        (filters(name, query))
        @if let Some(until) = query.until {
            p.lead { "Up to " (text::date(until)) " UTC. " a href=(query.address(name, None)) { "Up to now" } }
        }
        @if events.is_empty() {
            p.empty {
                @if query.is_filter() { "Nothing of that kind has happened, as far as the leader remembers." }
                @else { "Nothing has happened yet." }
            }
        } @else {
            (parts::events(name, events))
        }
        (older(name, query, events))
    }
}

fn older(name: &str, query: &Query, events: &[Event]) -> Markup {
    let last = events.last().and_then(|event| text::wire_ms(event.at.as_ref()));
    html! {
        @if let Some(last) = last.filter(|_| events.len() == PAGE as usize) {
            // Those of the same millisecond come again rather than being left out.
            p { a href=(query.address(name, Some(last))) { "Older events" } }
        }
    }
}

fn filters(name: &str, query: &Query) -> Markup {
    html! {
        form.filters action=(format!("{}/events", text::namespace_path(name))) {
            p {
                label for="kind" { "What" }
                select #kind name="kind" {
                    option value="" { "everything" }
                    @for (value, label, _) in KINDS {
                        option value=(value) selected[value == query.kind] { (label) }
                    }
                }
            }
            p {
                label for="shard" { "Shard" }
                input #shard name="shard" type="search" value=(query.shard) autocomplete="off" spellcheck="false";
            }
            p {
                label for="executor" { "Executor or host" }
                input #executor name="executor" type="search" value=(query.executor) autocomplete="off" spellcheck="false";
            }
            p {
                button type="submit" { "Filter" }
                @if query.is_filter() {
                    " " a href=(Query::default().address(name, query.until)) { "Everything" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ms: u64) -> Event {
        Event {
            at: Some(text::to_wire(at_ms)),
            kind: "granted".into(),
            shard_key: "a/b".into(),
            executor_id: "<i>".into(),
            generation: 7,
            detail: "balance".into(),
        }
    }

    #[test]
    fn an_event_has_an_address_of_its_own() {
        let text = draw("orders", &Query::default(), &[event(1_764_529_452_007)]).into_string();
        assert!(text.contains("/namespaces/orders/events?until=1764529452007#t1764529452007"));
        assert!(text.contains(r#"id="t1764529452007""#) && text.contains("19:04:12"), "{text}");
        assert!(text.contains("/shards/a%2Fb") && text.contains("&lt;i&gt;"), "{text}");
    }

    #[test]
    fn filters_are_in_the_address_and_in_the_question() {
        let query = Query { kind: "leaders".into(), shard: "a b".into(), ..Query::default() };
        assert_eq!(
            query.address("n", Some(5)),
            "/namespaces/n/events?kind=leaders&shard=a%20b&until=5"
        );
        let request = query.request("n");
        assert_eq!((request.shard_key.as_str(), request.kinds), ("a b", vec!["led".to_owned()]));
    }

    #[test]
    fn a_full_page_leads_to_the_next() {
        let events: Vec<_> = (0..u64::from(PAGE)).rev().map(|at| event(50 + at)).collect();
        let text = draw("n", &Query::default(), &events).into_string();
        assert!(text.contains("events?until=50\">Older events"), "{text}");
        assert!(!draw("n", &Query::default(), &events[1..]).into_string().contains("Older"));
    }

    #[test]
    fn nothing_found_is_said_otherwise_than_nothing_there() {
        let filtered = Query { executor: "x".into(), ..Query::default() };
        assert!(draw("n", &filtered, &[]).into_string().contains("Nothing of that kind"));
        assert!(
            draw("n", &Query::default(), &[]).into_string().contains("Nothing has happened yet")
        );
    }
}
