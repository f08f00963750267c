//! `shard history`: what happened, newest first.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::v1::{Event, HistoryRequest};
use serde::Serialize;

use crate::figures;
use crate::go_time;
use crate::output;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Only of this shard
    #[arg(long, visible_alias = "sk", default_value = "", hide_default_value = true)]
    shard_key: String,

    /// At most so many events
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Print JSON instead of a table
    #[arg(long, short = 'j')]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct View {
    namespace: String,
    events: Vec<EventView>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct EventView {
    at: String,
    kind: String,
    shard_key: String,
    #[serde(rename = "ExecutorID")]
    executor_id: String,
    generation: u64,
    detail: String,
}

pub(crate) async fn run(session: &Session, arguments: Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let Arguments { shard_key, limit, json } = arguments;
    let name = namespace.clone();
    let request = server.request(HistoryRequest {
        namespace: name,
        shard_key,
        limit,
        ..HistoryRequest::default()
    });
    let answer = server.call("History", server.admin().history(request)).await?;
    if json {
        output::print_json(&View {
            namespace,
            events: answer.events.into_iter().map(view).collect(),
        })
    } else {
        output::print_table(&table(&answer.events))
    }
}

fn table(events: &[Event]) -> String {
    let heading = "AT\tKIND\tSHARD_KEY\tEXECUTOR_ID\tGENERATION\tDETAIL\n";
    format!("{heading}{}", events.iter().map(line).collect::<String>())
}

fn line(event: &Event) -> String {
    let at = go_time::nanos(event.at.as_ref());
    let Event { kind, generation, .. } = event;
    // Generations begin at 1; 0 stands for an event that is about none.
    let generation = if *generation == 0 { "-".to_owned() } else { generation.to_string() };
    let [shard, executor, detail] =
        [&event.shard_key, &event.executor_id, &event.detail].map(|text| figures::or_dash(text));
    format!("{at}\t{kind}\t{shard}\t{executor}\t{generation}\t{detail}\n")
}

fn view(event: Event) -> EventView {
    EventView {
        at: go_time::nanos(event.at.as_ref()),
        kind: event.kind,
        shard_key: event.shard_key,
        executor_id: event.executor_id,
        generation: event.generation,
        detail: event.detail,
    }
}
