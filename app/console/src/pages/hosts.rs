//! The hosts of a namespace: each a bar of its shards against the mean, with all that
//! is known of it, and what can be ordered.

use std::time::Duration;

use maud::{Markup, html};
use plimsoll_wire::v1::{Drain, ExecutorLoad};

use crate::bars::{Bar, Scale};
use crate::fleet::Picture;
use crate::natural_order;
use crate::parts::{Bands, Tone, badge};
use crate::text;

use super::order::{Order, link};

/// More are not drawn unless somebody wants them all.
const SHOWN: usize = 60;

/// In which order hosts stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sort {
    Name,
    Load,
}

/// What is drawn of a picture.
pub(super) struct Hosts<'a> {
    pub(super) namespace: &'a str,
    pub(super) picture: &'a Picture,
    pub(super) sort: Sort,
    pub(super) all: bool,
}

/// An executor with its bar.
struct Host<'a> {
    executor: &'a ExecutorLoad,
    bar: Bar,
}

impl Hosts<'_> {
    pub(super) fn draw(&self) -> Markup {
        let hosts = self.hosts();
        let balance = self.picture.loads.balance.unwrap_or_default();
        let bands = Bands::of(&self.picture.described);
        let bars: Vec<_> = hosts.iter().map(|host| host.bar.clone()).collect();
        let scale = Scale::over(&bars, balance.mean, Some(bands));
        let hidden = if self.all { 0 } else { hosts.len().saturating_sub(SHOWN) };
        let shown = &hosts[..hosts.len() - hidden];
        html! {
            section aria-labelledby="hosts" {
                div.heading {
                    h2 #hosts { "Hosts" }
                    (self.legend(bands))
                }
                @if hosts.is_empty() {
                    (no_hosts(self.namespace))
                } @else {
                    (self.table(shown, &scale))
                    @if hidden > 0 {
                        p {
                            a href=(self.address(self.sort, true)) {
                                "Show " (text::counted(hidden as u64, "more host"))
                            }
                        }
                    }
                }
            }
        }
    }

    fn hosts(&self) -> Vec<Host<'_>> {
        let loads = &self.picture.loads;
        let cooldown = text::wire_span(loads.cooldown.as_ref()).unwrap_or(Duration::ZERO);
        let host = |executor| Host { executor, bar: Bar::of(self.namespace, executor, cooldown) };
        let mut hosts: Vec<_> = loads.executors.iter().map(host).collect();
        hosts.sort_by(|a, b| {
            let by_name = natural_order::compare(&a.executor.executor_id, &b.executor.executor_id);
            match self.sort {
                Sort::Name => by_name,
                Sort::Load => b.weight().total_cmp(&a.weight()).then(by_name),
            }
        });
        hosts
    }

    fn address(&self, sort: Sort, all: bool) -> String {
        let sort = if sort == Sort::Load { "load" } else { "name" };
        let all = if all { "&all=1" } else { "" };
        format!("{}?sort={sort}{all}", text::namespace_path(self.namespace))
    }

    fn legend(&self, bands: Bands) -> Markup {
        let (lower, upper) = (bands.lower, bands.upper);
        html! {
            p.legend {
                span.swatch.shard {} "shard "
                span.swatch.rest {} "smaller shards "
                span.swatch.moved {} "moved, cooling down "
                span.swatch.mean {} "mean "
                span.swatch.band {} (format!("{lower} to {upper} of it"))
            }
        }
    }

    fn table(&self, hosts: &[Host<'_>], scale: &Scale) -> Markup {
        html! {
            table.hosts role="table" aria-label="Hosts" {
                thead role="rowgroup" {
                    tr role="row" {
                        th role="columnheader" scope="col" { (self.sorter(Sort::Name, "Host")) }
                        th.wide role="columnheader" scope="col" { "Shards by load" }
                        th.n role="columnheader" scope="col" { (self.sorter(Sort::Load, "Of its share")) }
                        th.n role="columnheader" scope="col" { "Load" }
                        th.n role="columnheader" scope="col" { "Shards" }
                        th.n role="columnheader" scope="col" { "Capacity" }
                        th role="columnheader" scope="col" { "Status" }
                        th.n role="columnheader" scope="col" { "Heard" }
                        th.n role="columnheader" scope="col" { "Lease" }
                        th role="columnheader" scope="col" { "Version" }
                        th role="columnheader" scope="col" { span.unseen { "Orders" } }
                    }
                }
                tbody role="rowgroup" {
                    @for host in hosts { (self.row(host, scale)) }
                }
            }
        }
    }

    fn sorter(&self, sort: Sort, name: &str) -> Markup {
        html! {
            @if sort == self.sort {
                span.sorted { (name) }
            } @else {
                a href=(self.address(sort, self.all)) { (name) }
            }
        }
    }

    fn row(&self, host: &Host<'_>, scale: &Scale) -> Markup {
        let Host { executor, bar } = host;
        let share = bar.share(scale.mean);
        let tone = match executor.status.as_str() {
            "active" => Tone::of_share(share, scale.bands.unwrap_or(Bands::EVEN)),
            _ => Tone::Plain,
        };
        let drain = self.picture.drains.hosts.iter().find(|drain| drain.name == executor.host);
        html! {
            tr role="row" id=(format!("host-{}", executor.executor_id)) {
                th.name role="rowheader" scope="row" { (host.name()) }
                td.wide role="cell" { (bar.draw(scale)) }
                td.n.share role="cell" { strong class=(tone.class()) { (format!("{share:.2}")) } }
                td.n role="cell" data-name="load" { (text::load(executor.load)) }
                td.n role="cell" data-name="shards" { (text::count(executor.shards)) }
                td.n role="cell" data-name="capacity" { (capacity(executor.capacity)) }
                td.status role="cell" { (status(executor, drain)) }
                td.n role="cell" data-name="heard" { (self.heard(executor)) }
                td.n role="cell" data-name="lease" { (self.lease(executor)) }
                td.key role="cell" data-name="version" { (or_dash(&executor.version)) }
                td.orders role="cell" { (self.orders(executor, drain)) }
            }
        }
    }

    /// By the leader's clock: it is not ours.
    fn heard(&self, executor: &ExecutorLoad) -> Markup {
        let at = text::wire_ms(self.picture.loads.at.as_ref());
        let past = at.zip(text::wire_ms(executor.last_heartbeat.as_ref()));
        html! {
            @match past {
                Some((at, last)) => { (tenths(at.saturating_sub(last))) " ago" }
                None => "–",
            }
        }
    }

    fn lease(&self, executor: &ExecutorLoad) -> Markup {
        let at = text::wire_ms(self.picture.loads.at.as_ref());
        let left = at.zip(text::wire_ms(executor.lease_ends.as_ref()));
        html! {
            @match left {
                Some((at, ends)) if ends > at => { (tenths(ends - at)) " left" }
                Some(_) => strong.bad { "over" },
                None => "–",
            }
        }
    }

    fn orders(&self, executor: &ExecutorLoad, drain: Option<&Drain>) -> Markup {
        let host = &executor.host;
        let order = match drain {
            Some(_) => Order::UndrainHost(host.clone()),
            None => Order::DrainHost(host.clone()),
        };
        html! {
            @if !host.is_empty() {
                a.button href=(link(self.namespace, &order)) {
                    (order.verb()) span.unseen { " host " (host) }
                }
            }
        }
    }
}

impl Host<'_> {
    fn weight(&self) -> f64 {
        self.bar.load / self.bar.capacity
    }

    fn name(&self) -> Markup {
        let ExecutorLoad { executor_id, host, .. } = self.executor;
        html! {
            (executor_id)
            @if host != executor_id && !host.is_empty() { " " span.muted { "on " (host) } }
        }
    }
}

fn no_hosts(namespace: &str) -> Markup {
    html! {
        div.empty {
            p { "No executor has ever said hello. One in Rust is three lines:" }
            pre {
                code {
                    "let executor = Executor::builder(\"" (namespace) "\", Work)\n"
                    "    .connect(\"http://127.0.0.1:7943\")\n"
                    "    .start().await?;"
                }
            }
        }
    }
}

fn status(executor: &ExecutorLoad, drain: Option<&Drain>) -> Markup {
    let tone = match executor.status.as_str() {
        "active" => Tone::Good,
        "silent" => Tone::Bad,
        "drained" | "leaving" | "away" => Tone::Warm,
        _ => Tone::Plain,
    };
    html! {
        (badge(&executor.status, tone))
        @if executor.protocol == "unary" { " " span.muted { "unary" } }
        @if let Some(drain) = drain {
            p.why { (why(drain)) }
        }
    }
}

/// Who drained it, why, and what it waits for.
pub(super) fn why(drain: &Drain) -> String {
    let mut text = String::new();
    let parts = [("by ", &drain.drained_by), (": ", &drain.reason), ("; ", &drain.waiting_for)];
    for (before, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        text = text + before + part;
    }
    text.trim_start_matches([':', ';', ' ']).to_owned()
}

fn capacity(capacity: f64) -> String {
    let capacity = if capacity > 0.0 { capacity } else { 1.0 };
    let text = format!("{capacity:.2}");
    format!("×{}", text.trim_end_matches('0').trim_end_matches('.'))
}

fn tenths(ms: u64) -> String {
    match ms {
        0..100_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => text::span(Duration::from_millis(ms)),
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}
