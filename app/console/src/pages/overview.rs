//! Every namespace in one line: how even it is, what moves, what is wrong.

use maud::{Markup, html};

use crate::app::App;
use crate::chart;
use crate::fleet::{Overview, Picture, Seen};
use crate::layout::{Page, Section, sentence};
use crate::parts::{self, Bands, Tone, badge};
use crate::text;

pub(super) fn page(app: &App) -> Page {
    let main = draw(text::now_ms(), &app.fleet.overview());
    Page::live("Overview", Section::Overview, main)
}

fn draw(now_ms: u64, overview: &Overview) -> Markup {
    html! {
        h1 { "Namespaces" }
        @if let Some(trouble) = &overview.trouble {
            div.notice.warm role="status" {
                p {
                    strong { "The list is old: no answer since " (parts::time(trouble.since_ms)) ". " }
                    (sentence(trouble.problem.text()))
                }
            }
        }
        @if !overview.all.is_empty() {
            (table(now_ms, &overview.all))
        } @else if overview.is_listed {
            (nothing_yet())
        } @else if overview.trouble.is_none() {
            p.empty role="status" { "Asking for the namespaces …" }
        }
    }
}

fn nothing_yet() -> Markup {
    html! {
        div.empty {
            p { "There is no namespace yet. Make one, then connect executors to it:" }
            pre { code { "smctl namespace create orders --type fixed --shards 1024" } }
            p {
                "What it will do can be seen on the " a href="/walk-through" { "walk-through" } "."
            }
        }
    }
}

fn table(now_ms: u64, all: &[Seen]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Namespaces" {
            table.namespaces.cards {
                thead {
                    tr {
                        th scope="col" { "Namespace" }
                        th.n scope="col" { "Hosts" }
                        th.n scope="col" { "Shards" }
                        th.n scope="col" { "Max/mean" }
                        th scope="col" { "Last hour" }
                        th.n scope="col" { "Spread" }
                        th scope="col" { "Hottest host" }
                        th.n scope="col" { "Moves/min" }
                        th scope="col" { "Leader" }
                        th scope="col" { "Drains" }
                        th scope="col" { "Alarms" }
                    }
                }
                tbody {
                    @for seen in all {
                        @match &seen.picture {
                            Some(picture) => (row(now_ms, seen, picture)),
                            None => (blank_row(seen)),
                        }
                    }
                }
            }
        }
    }
}

fn name(seen: &Seen) -> Markup {
    html! {
        th.name scope="row" {
            a href=(text::namespace_path(&seen.name)) { (seen.name) }
            " " span.kind { (seen.kind) }
        }
    }
}

/// Nothing was seen of it yet.
fn blank_row(seen: &Seen) -> Markup {
    html! {
        tr {
            (name(seen))
            td.text colspan="10" data-name="State" {
                @match &seen.trouble {
                    Some(trouble) => {
                        (badge("no answer", Tone::Warm)) " " (sentence(trouble.problem.text()))
                    }
                    None => { span.muted { "Waiting for the first figures …" } }
                }
            }
        }
    }
}

fn row(now_ms: u64, seen: &Seen, picture: &Picture) -> Markup {
    let Picture { described, loads, .. } = picture;
    let balance = loads.balance.unwrap_or_default();
    let tone = Tone::of_share(balance.max_over_mean, Bands::of(described));
    let tone = if tone == Tone::Plain { Tone::Good } else { tone };
    let moves = seen.series.moves_a_minute(picture.taken_ms, loads.moves);
    let history: Vec<f64> = seen.series.thinned(120).iter().map(|it| it.max_over_mean()).collect();
    html! {
        tr {
            (name(seen))
            td.n data-name="Hosts" { (balance.hosts) }
            td.n data-name="Shards" { (text::count(described.shards)) }
            td.n data-name="Max/mean" { strong class=(tone.class()) { (format!("{:.3}", balance.max_over_mean)) } }
            td.spark-cell data-name="Last hour" { (chart::spark(&history, &hour(&history))) }
            td.n data-name="Spread" { (text::percent(balance.spread)) }
            td data-name="Hottest host" { (hottest(picture)) }
            td.n data-name="Moves/min" { (moves.map_or_else(|| "–".to_owned(), |it| format!("{it:.0}"))) }
            td data-name="Leader" { (leader(picture)) }
            td data-name="Drains" { (drains(picture)) }
            td.text data-name="Alarms" { (alarms(now_ms, seen, picture)) }
        }
    }
}

fn hour(history: &[f64]) -> String {
    let (first, last) = (history.first(), history.last());
    let figure = |value: Option<&f64>| value.map_or(1.0, |it| *it);
    format!("max/mean from {:.2} to {:.2}", figure(first), figure(last))
}

fn hottest(picture: &Picture) -> Markup {
    let active = picture.loads.executors.iter().filter(|it| it.status == "active");
    let weight = |load: f64, capacity: f64| load / if capacity > 0.0 { capacity } else { 1.0 };
    let hottest =
        active.max_by(|a, b| weight(a.load, a.capacity).total_cmp(&weight(b.load, b.capacity)));
    html! {
        @match hottest {
            Some(executor) => {
                span.key { (executor.executor_id) } " " span.muted { (text::load(executor.load)) }
            }
            None => span.muted { "none" },
        }
    }
}

fn leader(picture: &Picture) -> Markup {
    let described = &picture.described;
    html! {
        @if described.leader_id.is_empty() {
            span.muted { "this server" }
        } @else {
            span.key title=(described.leader_id) { (described.leader_address) }
        }
    }
}

fn drains(picture: &Picture) -> Markup {
    let (hosts, shards) = (picture.drains.hosts.len(), picture.drains.shards.len());
    html! {
        @if hosts + shards == 0 { span.muted { "none" } }
        @if hosts > 0 { (badge(&text::counted(hosts as u64, "host"), Tone::Warm)) }
        @if hosts > 0 && shards > 0 { " " }
        @if shards > 0 { (badge(&text::counted(shards as u64, "shard"), Tone::Warm)) }
    }
}

fn alarms(now_ms: u64, seen: &Seen, picture: &Picture) -> Markup {
    let conditions = &picture.described.conditions;
    html! {
        @if let Some(trouble) = &seen.trouble {
            (badge("no answer", Tone::Warm)) " figures of " (parts::ago(now_ms, picture.taken_ms))
            ": " (sentence(trouble.problem.text()))
        } @else if conditions.is_empty() {
            (badge("all well", Tone::Good))
        } @else {
            (badge(&conditions.len().to_string(), Tone::Bad)) " " (sentence(&conditions[0]))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_wire::v1;

    use super::*;
    use crate::fleet::Trouble;
    use crate::problem::Problem;

    fn seen() -> Seen {
        let balance =
            v1::Balance { hosts: 20, max_over_mean: 1.285, spread: 0.1114, ..Default::default() };
        let executor = |id: &str, load, capacity| v1::ExecutorLoad {
            executor_id: id.into(),
            status: "active".into(),
            load,
            capacity,
            ..Default::default()
        };
        let executors = vec![executor("big", 30.0, 4.0), executor("small", 20.0, 1.0)];
        let picture = Picture {
            taken_ms: 10_000,
            described: v1::DescribeNamespaceResponse { shards: 1024, ..Default::default() },
            loads: v1::GetLoadsResponse { balance: Some(balance), executors, ..Default::default() },
            drains: v1::ListDrainsResponse::default(),
        };
        let picture = Some(Arc::new(picture));
        Seen { name: "or<ders".into(), kind: "fixed".into(), picture, ..Seen::default() }
    }

    fn away() -> Option<Trouble> {
        Some(Trouble { since_ms: 12_000, problem: Problem::Away("nobody leads it".into()) })
    }

    fn text_of(overview: &Overview) -> String {
        draw(15_000, overview).into_string()
    }

    #[test]
    fn before_the_first_answer_it_says_that_it_asks() {
        let text = text_of(&Overview::default());
        assert!(text.contains("Asking for the namespaces"), "{text}");
    }

    #[test]
    fn without_a_namespace_it_says_how_to_make_one() {
        let text = text_of(&Overview { is_listed: true, ..Overview::default() });
        assert!(text.contains("smctl namespace create"), "{text}");
    }

    #[test]
    fn a_namespace_shows_its_figures_and_its_name_is_escaped() {
        let text = text_of(&Overview { is_listed: true, trouble: None, all: vec![seen()] });
        assert!(text.contains("or&lt;ders") && !text.contains("or<ders"), "{text}");
        assert!(text.contains("1.285") && text.contains("11.1 %") && text.contains("1024"));
        assert!(text.contains("small") && !text.contains("big"), "by capacity: {text}");
        assert!(text.contains("all well") && text.contains("this server"));
    }

    #[test]
    fn a_namespace_without_an_answer_keeps_its_figures_and_says_their_age() {
        let all = vec![Seen { trouble: away(), ..seen() }];
        let text = text_of(&Overview { is_listed: true, trouble: None, all });
        assert!(text.contains("1.285") && text.contains("5 s ago"), "{text}");
        assert!(text.contains("Nobody leads it."), "{text}");
    }

    #[test]
    fn a_namespace_that_never_answered_says_so() {
        let all = vec![Seen { trouble: away(), picture: None, ..seen() }];
        let text = text_of(&Overview { is_listed: true, trouble: None, all });
        assert!(text.contains("no answer") && text.contains("Nobody leads it."), "{text}");
        let all = vec![Seen { picture: None, ..seen() }];
        let text = text_of(&Overview { is_listed: true, trouble: None, all });
        assert!(text.contains("Waiting for the first figures"), "{text}");
    }

    #[test]
    fn a_list_that_is_old_says_since_when() {
        let overview = Overview { is_listed: true, trouble: away(), all: vec![seen()] };
        assert!(text_of(&overview).contains("The list is old: no answer since"));
    }
}
