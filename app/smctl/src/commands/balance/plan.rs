//! `balance plan`: a dry run of the next cycle: its moves, why some hosts are
//! left alone, and the balance before and after.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::v1::{Balance, HostNote, PlanBalanceRequest, PlanBalanceResponse, PlannedMove};
use serde::Serialize;

use crate::figures::{self, BalanceView};
use crate::output;
use crate::session::Session;
use crate::tabwriter;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Plan as if the namespace had this mode (default: its own)
    #[arg(long, default_value = "", hide_default_value = true)]
    mode: String,

    /// Print JSON instead of tables
    #[arg(long, short = 'j')]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct View {
    namespace: String,
    mode: String,
    moves: Vec<MoveView>,
    notes: Vec<NoteView>,
    before: Option<BalanceView>,
    after: Option<BalanceView>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct MoveView {
    shard_key: String,
    from: String,
    to: String,
    load: f64,
    reason: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NoteView {
    #[serde(rename = "ExecutorID")]
    executor_id: String,
    load: f64,
    reason: String,
}

pub(crate) async fn run(session: &Session, arguments: Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let Arguments { mode, json } = arguments;
    let request = server.request(PlanBalanceRequest { namespace: namespace.clone(), mode });
    let plan = server.call("PlanBalance", server.admin().plan_balance(request)).await?;
    if json { output::print_json(&view(namespace, plan)) } else { output::print(&text(&plan)) }
}

fn text(plan: &PlanBalanceResponse) -> String {
    let before = plan.before.unwrap_or_default();
    let after = plan.after.unwrap_or_default();
    let sections = [moves(&plan.moves), notes(&plan.notes), balances(&before, &after)];
    format!("Mode {}: {}\n{}", plan.mode, count(plan.moves.len()), sections.concat())
}

fn count(moves: usize) -> String {
    match moves {
        0 => "nothing to move.".to_owned(),
        1 => "1 move.".to_owned(),
        moves => format!("{moves} moves."),
    }
}

fn moves(moves: &[PlannedMove]) -> String {
    let line = |it: &PlannedMove| {
        let (from, load) = (figures::or_dash(&it.from), figures::load(it.load));
        format!("{}\t{from}\t{}\t{load}\t{}\n", it.shard_key, it.to, why(it))
    };
    section("SHARD_KEY\tFROM\tTO\tLOAD\tREASON\n", moves.iter().map(line).collect())
}

/// The reason may be a sentence that says the move again before its colon; the
/// table has said that.
fn why(planned: &PlannedMove) -> &str {
    let reason = planned.reason.as_str();
    let tells_the_move = reason.starts_with(&format!("shard {} ", planned.shard_key));
    match reason.split_once(": ") {
        Some((_, why)) if tells_the_move => why,
        _ => reason,
    }
}

/// A sentence a host that is left as it is, and one about the whole.
fn notes(notes: &[HostNote]) -> String {
    let lines: String = notes.iter().map(|note| sentence(note) + "\n").collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn sentence(HostNote { executor_id, reason, .. }: &HostNote) -> String {
    if reason.contains(executor_id.as_str()) {
        reason.clone()
    } else {
        format!("{executor_id}: {reason}")
    }
}

fn balances(before: &Balance, after: &Balance) -> String {
    let heading = format!("\t{}\n", figures::BALANCE_HEADING);
    let [before, after] = [before, after].map(figures::balance_row);
    section(&heading, format!("before\t{before}\nafter\t{after}\n"))
}

/// A table after an empty line; nothing for no lines.
fn section(heading: &str, lines: String) -> String {
    if lines.is_empty() {
        return lines;
    }
    format!("\n{}", tabwriter::align(&(heading.to_owned() + &lines)))
}

fn view(namespace: String, plan: PlanBalanceResponse) -> View {
    View {
        namespace,
        mode: plan.mode,
        moves: plan.moves.into_iter().map(MoveView::from).collect(),
        notes: plan.notes.into_iter().map(NoteView::from).collect(),
        before: plan.before.map(BalanceView::from),
        after: plan.after.map(BalanceView::from),
    }
}

impl From<PlannedMove> for MoveView {
    fn from(planned: PlannedMove) -> Self {
        let PlannedMove { shard_key, from, to, load, reason } = planned;
        Self { shard_key, from, to, load, reason }
    }
}

impl From<HostNote> for NoteView {
    fn from(note: HostNote) -> Self {
        let HostNote { executor_id, load, reason } = note;
        Self { executor_id, load, reason }
    }
}
