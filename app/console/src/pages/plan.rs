//! What the next cycle would do and why, in the namespace's own mode or another: the
//! sentences of `smctl balance plan`.

use maud::{Markup, html};
use plimsoll_placement::policy::Mode;
use plimsoll_wire::v1::{Balance, HostNote, PlanBalanceResponse, PlannedMove};
use serde::Deserialize;

use crate::app::App;
use crate::layout::{Page, Section, sentence};
use crate::parts;
use crate::text;

use super::namespace::tabs;

/// Moves on the page of the namespace, and on the plan's own.
const FEW: usize = 6;
const MANY: usize = 500;

/// What the address says.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Query {
    /// Empty: the namespace's own.
    #[serde(default)]
    mode: String,
}

pub(super) async fn page(app: &App, name: &str, query: &Query) -> Page {
    match app.wire.plan(name, &query.mode).await {
        Ok(plan) => {
            Page::live(format!("Plan of {name}"), Section::Overview, draw(name, query, &plan))
        }
        Err(problem) => Page::problem(Section::Overview, &problem),
    }
}

fn draw(name: &str, query: &Query, plan: &PlanBalanceResponse) -> Markup {
    html! {
        (parts::crumbs(&[("Namespaces", "/".to_owned()), (name, text::namespace_path(name))], "Plan"))
        div.title { h1 { "The next cycle of " (name) } }
        (tabs(name, "Plan"))
        p.lead {
            "A dry run, made anew as you look; nothing is changed by it. Mode "
            strong { (plan.mode) }
            @if query.mode.is_empty() { ", the namespace's own. " } @else { ", to compare. " }
            "Other modes: "
            @for mode in Mode::ALL.iter().filter(|mode| mode.as_str() != plan.mode) {
                a href=(format!("{}/plan?mode={}", text::namespace_path(name), mode.as_str())) { (mode.as_str()) } " "
            }
        }
        (balances(plan))
        section aria-labelledby="moves" {
            h2 #moves { (count(plan.moves.len())) }
            (moves(name, &plan.moves, MANY))
        }
        (notes(&plan.notes, MANY))
    }
}

/// The plan in a few lines.
pub(super) fn short(name: &str, plan: &PlanBalanceResponse) -> Markup {
    html! {
        p { (count(plan.moves.len())) }
        (moves(name, &plan.moves, FEW))
        (notes(&plan.notes, FEW))
    }
}

fn count(moves: usize) -> String {
    match moves {
        0 => "Nothing to move".to_owned(),
        moves => text::counted(moves as u64, "move"),
    }
}

fn moves(name: &str, all: &[PlannedMove], shown: usize) -> Markup {
    html! {
        @if !all.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Moves" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Shard" }
                            th scope="col" { "From" }
                            th scope="col" { "To" }
                            th.n scope="col" { "Load" }
                            th scope="col" { "Why" }
                        }
                    }
                    tbody {
                        @for planned in all.iter().take(shown) {
                            tr {
                                th.key scope="row" {
                                    a href=(text::shard_path(name, &planned.shard_key)) { (planned.shard_key) }
                                }
                                td.key { @if planned.from.is_empty() { "–" } @else { (planned.from) } }
                                td.key { (planned.to) }
                                td.n { (text::load(planned.load)) }
                                td.text { (why(planned)) }
                            }
                        }
                    }
                }
            }
        }
        @if all.len() > shown { p.muted { "and " (all.len() - shown) " more" } }
    }
}

/// The reason may be a sentence that says the move again before its colon; the table
/// has said that.
fn why(planned: &PlannedMove) -> &str {
    let reason = planned.reason.as_str();
    let tells_the_move = reason.starts_with(&format!("shard {} ", planned.shard_key));
    match reason.split_once(": ") {
        Some((_, why)) if tells_the_move => why,
        _ => reason,
    }
}

/// One about the whole, and a sentence a host that is left as it is.
fn notes(notes: &[HostNote], shown: usize) -> Markup {
    let line = |HostNote { executor_id, reason, .. }: &HostNote| match reason.contains(executor_id)
    {
        true => sentence(reason),
        false => format!("{executor_id}: {}", sentence(reason)),
    };
    let held: Vec<_> = notes.iter().filter(|it| !it.executor_id.is_empty()).collect();
    html! {
        @if !notes.is_empty() {
            ul.notes {
                // The one about the whole comes last on the wire.
                @for note in notes.iter().filter(|it| it.executor_id.is_empty()) { li { (line(note)) } }
                @for note in held.iter().take(shown) { li { (line(note)) } }
            }
            @if held.len() > shown { p.muted { "and " (text::counted((held.len() - shown) as u64, "more host")) } }
        }
    }
}

fn balances(plan: &PlanBalanceResponse) -> Markup {
    let [before, after] = [plan.before, plan.after].map(Option::unwrap_or_default);
    let row = |name: &str, balance: &Balance| {
        html! {
            tr {
                th scope="row" { (name) }
                td.n { (format!("{:.3}", balance.max_over_mean)) }
                td.n { (text::percent(balance.spread)) }
                td.n { (text::load(balance.max)) }
                td.n { (text::load(balance.mean)) }
                td.n { (text::load(balance.min)) }
            }
        }
    };
    html! {
        table.small {
            thead {
                tr {
                    td {}
                    th.n scope="col" { "Max/mean" }
                    th.n scope="col" { "Spread" }
                    th.n scope="col" { "Max" }
                    th.n scope="col" { "Mean" }
                    th.n scope="col" { "Min" }
                }
            }
            tbody { (row("before", &before)) (row("after", &after)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> PlanBalanceResponse {
        let planned = PlannedMove {
            shard_key: "a<b".into(),
            from: String::new(),
            to: "host-1".into(),
            load: 1.0,
            reason: "shard a<b goes to host-1 with a load of 1: nobody had it (unowned)".into(),
        };
        let note = |id: &str, reason: &str| HostNote {
            executor_id: id.into(),
            load: 1.0,
            reason: reason.into(),
        };
        PlanBalanceResponse {
            mode: "greedy".into(),
            moves: vec![planned],
            notes: vec![
                note("host-2", "host-2 carries 1.31 of the mean and stays"),
                note("", "stopped"),
            ],
            ..Default::default()
        }
    }

    #[test]
    fn a_plan_tells_each_move_once_with_its_reason() {
        let text = draw("orders", &Query::default(), &plan()).into_string();
        assert!(text.contains("nobody had it (unowned)") && !text.contains("goes to host-1"));
        assert!(text.contains("a&lt;b") && !text.contains("a<b"), "{text}");
        assert!(text.contains("Host-2 carries 1.31 of the mean and stays."), "{text}");
        assert!(text.contains("plan?mode=adaptive") && !text.contains("plan?mode=greedy"));
    }

    #[test]
    fn a_plan_without_moves_says_so() {
        let plan = PlanBalanceResponse::default();
        assert!(draw("orders", &Query::default(), &plan).into_string().contains("Nothing to move"));
    }

    #[test]
    fn many_moves_are_counted_not_listed() {
        let mut plan = plan();
        plan.moves = vec![plan.moves[0].clone(); 600];
        let text = draw("orders", &Query::default(), &plan).into_string();
        assert!(text.contains("600 moves") && text.contains("and 100 more"), "{text}");
    }
}
