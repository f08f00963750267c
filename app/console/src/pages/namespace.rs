//! One namespace: its hosts as stacks of shards, the hour behind it, what the next
//! cycle would do and why, and what happened last.

use maud::{Markup, html};
use plimsoll_wire::v1::{self, Drain};
use serde::Deserialize;

use crate::app::App;
use crate::chart;
use crate::fleet::{Brief, Picture, Seen};
use crate::layout::{Page, Section, sentence};
use crate::parts::{self, Bands, Tone, badge, figure};
use crate::problem::Problem;
use crate::text;

use super::hosts::{Hosts, Sort, why};
use super::order::{Order, link};
use super::{order, plan, seen};

/// What the address says.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Query {
    /// `name` or `load`.
    #[serde(default)]
    sort: String,
    /// Every host is drawn, however many there are.
    #[serde(default)]
    all: String,
    /// An order that was given a moment ago.
    #[serde(default)]
    done: String,
    #[serde(default)]
    target: String,
}

/// All that is drawn.
struct View<'a> {
    now_ms: u64,
    seen: &'a Seen,
    brief: Option<&'a Brief>,
    query: &'a Query,
}

pub(super) async fn page(app: &App, name: &str, query: &Query) -> Page {
    let seen = match seen(app, name).await {
        Ok(seen) => seen,
        Err(problem) => return Page::problem(Section::Overview, &problem),
    };
    // Who does not answer is not asked twice.
    let brief = match seen.trouble {
        None => Some(app.briefs.of(&app.wire, name).await),
        Some(_) => None,
    };
    let view = View { now_ms: text::now_ms(), seen: &seen, brief: brief.as_deref(), query };
    Page::live(name, Section::Overview, view.draw())
}

/// The pages of a namespace, and which of them this is.
pub(super) fn tabs(name: &str, here: &str) -> Markup {
    let path = text::namespace_path(name);
    let tabs = [("", "Hosts"), ("/plan", "Plan"), ("/events", "Events"), ("/settings", "Settings")];
    html! {
        nav.tabs aria-label="Namespace" {
            ul {
                @for (end, tab) in tabs {
                    li {
                        a href=(format!("{path}{end}"))
                            aria-current=[(tab == here).then_some("page")] { (tab) }
                    }
                }
            }
        }
    }
}

impl View<'_> {
    fn draw(&self) -> Markup {
        let Seen { name, kind, .. } = self.seen;
        html! {
            (parts::crumbs(&[("Namespaces", "/".to_owned())], name))
            div.title {
                h1 { (name) " " span.kind { (kind) } }
                (find(name))
            }
            (tabs(name, "Hosts"))
            (order::notice(&self.query.done, &self.query.target))
            @match &self.seen.picture {
                Some(picture) => (self.body(picture)),
                None => (self.blank()),
            }
        }
    }

    /// Nothing was seen yet.
    fn blank(&self) -> Markup {
        html! {
            @match &self.seen.trouble {
                Some(trouble) => {
                    div.notice.warm role="status" {
                        p { strong { "No answer yet, since " (parts::time(trouble.since_ms)) ". " } }
                        p { (sentence(trouble.problem.text())) }
                    }
                }
                None => p.empty role="status" { "Waiting for the first figures …" },
            }
        }
    }

    fn body(&self, picture: &Picture) -> Markup {
        html! {
            @if let Some(trouble) = &self.seen.trouble {
                (parts::stale(self.now_ms, trouble, picture.taken_ms))
            }
            (parts::alarms(&picture.described.conditions))
            (self.figures(picture))
            (self.hosts(picture).draw())
            div.columns {
                (self.hour(picture))
                (self.hottest(picture))
            }
            div.columns {
                (self.plan())
                (self.drains(picture))
            }
            (self.events())
        }
    }

    fn figures(&self, picture: &Picture) -> Markup {
        let Picture { described, loads, .. } = picture;
        let balance = loads.balance.unwrap_or_default();
        let moves = self.seen.series.moves_a_minute(picture.taken_ms, loads.moves);
        let heat = match Tone::of_share(balance.max_over_mean, Bands::of(described)) {
            Tone::Bad => Tone::Bad,
            _ => Tone::Good,
        };
        let wanting = |number| if number > 0 { Tone::Warm } else { Tone::Plain };
        html! {
            dl.figures {
                (figure("max/mean", format!("{:.3}", balance.max_over_mean), heat))
                (figure("spread", text::percent(balance.spread), Tone::Plain))
                (figure("mean load", text::load(balance.mean), Tone::Plain))
                (figure("hosts", text::count(balance.hosts), Tone::Plain))
                (figure("shards", text::count(described.shards), Tone::Plain))
                (figure("without owner", text::count(described.shards_without_owner), wanting(described.shards_without_owner)))
                (figure("in handover", text::count(described.shards_in_handover), Tone::Plain))
                (figure("moves a minute", moves.map_or_else(|| "–".to_owned(), |it| format!("{it:.0}")), Tone::Plain))
                (figure("measured", text::percent(balance.measured), Tone::Plain))
                (figure("mode", parts::mode(described), Tone::Plain))
                @if !described.leader_address.is_empty() {
                    (figure("leader", described.leader_address.as_str(), Tone::Plain))
                }
                (self.balance_order(described))
            }
        }
    }

    fn balance_order(&self, described: &v1::DescribeNamespaceResponse) -> Markup {
        let order = if described.frozen { Order::Resume } else { Order::Freeze };
        html! {
            div.figure.order {
                dt { "balance" }
                dd {
                    @if described.frozen { (badge("frozen", Tone::Warm)) } @else { "on" }
                    " "
                    a.button href=(link(&self.seen.name, &order)) { (order.verb()) }
                }
            }
        }
    }

    fn hosts<'a>(&'a self, picture: &'a Picture) -> Hosts<'a> {
        let sort = match self.query.sort.as_str() {
            "load" => Sort::Load,
            "name" => Sort::Name,
            // Where not all are shown, those that matter are.
            _ if picture.loads.executors.len() > 40 => Sort::Load,
            _ => Sort::Name,
        };
        Hosts { namespace: &self.seen.name, picture, sort, all: !self.query.all.is_empty() }
    }

    fn hour(&self, picture: &Picture) -> Markup {
        let points = self.seen.series.thinned(chart::POINTS);
        let reach = points.first().map(|first| picture.taken_ms.saturating_sub(first.at_ms));
        html! {
            section aria-labelledby="hour" {
                div.heading {
                    h2 #hour { "Balance" }
                    @if let Some(reach) = reach {
                        p.legend { "the last " (text::span(std::time::Duration::from_millis(reach))) }
                    }
                }
                (chart::balance(&points))
            }
        }
    }

    fn hottest(&self, picture: &Picture) -> Markup {
        let loads = &picture.loads;
        let mean = loads.balance.map_or(0.0, |balance| balance.mean);
        let part = |load: f64| if mean > 0.0 { load / mean } else { 0.0 };
        html! {
            section aria-labelledby="hottest" {
                h2 #hottest { "Hottest shards" }
                @if loads.shards.is_empty() {
                    p.empty { "No shard has been measured yet." }
                } @else {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Shard" }
                                th scope="col" { "Owner" }
                                th.n scope="col" { "Load" }
                                th.n scope="col" { "Of a mean host" }
                            }
                        }
                        tbody {
                            @for shard in loads.shards.iter().take(8) {
                                tr {
                                    th.key scope="row" {
                                        a href=(text::shard_path(&self.seen.name, &shard.shard_key)) { (shard.shard_key) }
                                    }
                                    td.key { (shard.executor_id) }
                                    td.n { (text::measured(shard.smoothed_load)) }
                                    td.n { (shard.smoothed_load.map_or_else(|| "–".to_owned(), |load| text::percent(part(load)))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn plan(&self) -> Markup {
        let more = format!("{}/plan", text::namespace_path(&self.seen.name));
        html! {
            section aria-labelledby="plan" {
                div.heading {
                    h2 #plan { "The next cycle" }
                    p.legend { a href=(more) { "All of it, and other modes" } }
                }
                @match self.brief.map(|brief| &brief.plan) {
                    Some(Ok(plan)) => (plan::short(&self.seen.name, plan)),
                    Some(Err(problem)) => (unknown(problem)),
                    None => p.empty { "Unknown as long as nobody answers." },
                }
            }
        }
    }

    fn drains(&self, picture: &Picture) -> Markup {
        let v1::ListDrainsResponse { hosts, shards } = &picture.drains;
        html! {
            section aria-labelledby="drains" {
                h2 #drains { "Drains" }
                @if hosts.is_empty() && shards.is_empty() {
                    p.empty { "No host and no shard is drained." }
                } @else {
                    table {
                        thead {
                            tr {
                                th scope="col" { "What" }
                                th scope="col" { "Since" }
                                th scope="col" { "Who and why" }
                                th scope="col" { span.unseen { "Orders" } }
                            }
                        }
                        tbody {
                            @for drain in hosts {
                                (self.drain(drain, "host", &Order::UndrainHost(drain.name.clone())))
                            }
                            @for drain in shards.iter().take(50) {
                                (self.drain(drain, "shard", &Order::UndrainShard(drain.name.clone())))
                            }
                        }
                    }
                    @if shards.len() > 50 { p.muted { "and " (shards.len() - 50) " more shards" } }
                }
            }
        }
    }

    fn drain(&self, drain: &Drain, what: &str, undrain: &Order) -> Markup {
        let since = text::wire_ms(drain.drained_at.as_ref());
        html! {
            tr {
                th.key scope="row" { span.muted { (what) } " " (drain.name) }
                td { @if let Some(since) = since { (parts::ago(self.now_ms, since)) } }
                td.text { (why(drain)) }
                td.orders {
                    a.button href=(link(&self.seen.name, undrain)) {
                        (undrain.verb()) span.unseen { " " (what) " " (drain.name) }
                    }
                }
            }
        }
    }

    fn events(&self) -> Markup {
        let more = format!("{}/events", text::namespace_path(&self.seen.name));
        html! {
            section aria-labelledby="events" {
                div.heading {
                    h2 #events { "Last events" }
                    p.legend { a href=(more) { "All events" } }
                }
                @match self.brief.map(|brief| &brief.events) {
                    Some(Ok(events)) if events.is_empty() => p.empty { "Nothing has happened yet." },
                    Some(Ok(events)) => (parts::events(&self.seen.name, events)),
                    Some(Err(problem)) => (unknown(problem)),
                    None => p.empty { "Unknown as long as nobody answers." },
                }
            }
        }
    }
}

fn unknown(problem: &Problem) -> Markup {
    html! { p.empty { (problem.heading()) ": " (sentence(problem.text())) } }
}

/// A field that leads to the page of a shard.
fn find(namespace: &str) -> Markup {
    html! {
        form.find action=(format!("{}/shards", text::namespace_path(namespace))) role="search" {
            label for="find" { "Shard" }
            input #find name="key" type="search" required autocomplete="off" spellcheck="false";
            button type="submit" { "Find" }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fleet::Trouble;

    fn seen() -> Seen {
        let executor = |id: &str, status: &str, load| v1::ExecutorLoad {
            executor_id: id.into(),
            host: id.into(),
            status: status.into(),
            load,
            shards: 3,
            capacity: 1.0,
            last_heartbeat: Some(text::to_wire(9_600)),
            lease_ends: Some(text::to_wire(11_600)),
            ..Default::default()
        };
        let drain = v1::Drain {
            name: "host-10".into(),
            drained_at: Some(text::to_wire(4_000)),
            drained_by: "ana".into(),
            reason: "disk <b>".into(),
            waiting_for: String::new(),
        };
        let balance =
            v1::Balance { hosts: 2, mean: 50.0, max_over_mean: 1.2, ..Default::default() };
        let picture = Picture {
            taken_ms: 10_000,
            described: v1::DescribeNamespaceResponse {
                shards: 6,
                conditions: vec!["2 shards wait for an executor".into()],
                ..Default::default()
            },
            loads: v1::GetLoadsResponse {
                balance: Some(balance),
                executors: vec![
                    executor("host-10", "drained", 40.0),
                    executor("host-9", "active", 60.0),
                ],
                at: Some(text::to_wire(10_000)),
                ..Default::default()
            },
            drains: v1::ListDrainsResponse { hosts: vec![drain], shards: Vec::new() },
        };
        Seen {
            name: "orders".into(),
            kind: "fixed".into(),
            picture: Some(Arc::new(picture)),
            ..Seen::default()
        }
    }

    fn draw(seen: &Seen, brief: Option<&Brief>) -> String {
        View { now_ms: 14_000, seen, brief, query: &Query::default() }.draw().into_string()
    }

    fn brief() -> Brief {
        let moved = v1::PlannedMove {
            shard_key: "7".into(),
            from: "host-9".into(),
            to: "host-10".into(),
            load: 3.0,
            reason: "shard 7 moves from host-9 to host-10 with a load of 3: host-9 was too hot (balance)".into(),
        };
        Brief {
            plan: Ok(v1::PlanBalanceResponse { moves: vec![moved], ..Default::default() }),
            events: Err(Problem::Away("nobody".into())),
        }
    }

    #[test]
    fn hosts_stand_in_the_order_of_their_numbers_with_what_is_known_of_them() {
        let text = draw(&seen(), Some(&brief()));
        let (nine, ten) = (text.find("host-host-9"), text.find("host-host-10"));
        assert!(nine.unwrap() < ten.unwrap(), "{text}");
        assert!(text.contains("0.4 s ago") && text.contains("1.6 s left"), "{text}");
        assert!(text.contains("by ana: disk &lt;b&gt;"), "{text}");
        assert!(text.contains("2 shards wait for an executor."), "{text}");
    }

    #[test]
    fn a_drained_host_can_be_undrained_and_another_drained() {
        let text = draw(&seen(), None);
        assert!(text.contains("order?do=undrain-host&amp;target=host-10"), "{text}");
        assert!(text.contains("order?do=drain-host&amp;target=host-9"), "{text}");
        assert!(text.contains("order?do=freeze"), "{text}");
    }

    #[test]
    fn the_plan_is_told_in_the_words_of_the_planner() {
        let text = draw(&seen(), Some(&brief()));
        assert!(text.contains("host-9 was too hot (balance)"), "{text}");
        assert!(text.contains("No answer: Nobody."), "the events: {text}");
    }

    #[test]
    fn without_an_answer_the_last_figures_stay_with_their_age() {
        let problem = Problem::Away("the leader at b:1 does not answer: try again".into());
        let seen = Seen { trouble: Some(Trouble { since_ms: 12_000, problem }), ..seen() };
        let text = draw(&seen, None);
        assert!(text.contains("4 s ago") && text.contains("The leader at b:1"), "{text}");
        assert!(text.contains("host-9") && text.contains("Unknown as long as nobody answers"));
    }

    #[test]
    fn before_the_first_look_it_waits() {
        let seen = Seen { picture: None, ..seen() };
        assert!(draw(&seen, None).contains("Waiting for the first figures"));
    }

    #[test]
    fn without_hosts_it_says_how_to_bring_one() {
        let seen = Seen { picture: Some(Arc::new(Picture::default())), ..seen() };
        assert!(draw(&seen, None).contains("Executor::builder"));
    }
}
