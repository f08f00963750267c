//! `shard explain`: where a shard is, why it is there, why it does not move.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::v1::{Drain, ExplainShardRequest, ExplainShardResponse};
use serde::Serialize;

use super::OneShard;
use crate::figures;
use crate::go_time;
use crate::output;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    shard: OneShard,

    /// Print JSON instead of text
    #[arg(long, short = 'j')]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct View {
    namespace: String,
    shard_key: String,
    phase: String,
    owner: String,
    generation: u64,
    smoothed_load: Option<f64>,
    owned_since: Option<String>,
    because: String,
    outlook: String,
    drain: Option<DrainView>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct DrainView {
    drained_at: String,
    drained_by: String,
    reason: String,
    waiting_for: String,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let shard_key = arguments.shard.key()?;
    let server = session.server()?;
    let request = server.request(ExplainShardRequest { namespace: namespace.clone(), shard_key });
    let answer = server.call("ExplainShard", server.admin().explain_shard(request)).await?;
    if arguments.json {
        output::print_json(&view(namespace, answer))
    } else {
        output::print_table(&rows(&namespace, &answer))
    }
}

fn rows(namespace: &str, shard: &ExplainShardResponse) -> String {
    let mut rows = vec![
        ("Namespace", namespace.to_owned()),
        ("Shard", shard.shard_key.clone()),
        ("Phase", shard.phase.clone()),
        ("Owner", shard.owner.clone()),
        ("Generation", shard.generation.to_string()),
        ("Since", go_time::seconds(shard.owned_since.as_ref())),
        ("Load", figures::measured(shard.smoothed_load)),
        ("Because", shard.because.clone()),
        ("Outlook", shard.outlook.clone()),
    ];
    rows.extend(shard.drain.as_ref().map(|drain| ("Drained", sentence(drain))));
    rows.into_iter().map(|(name, value)| line(name, &value)).collect()
}

fn line(name: &str, value: &str) -> String {
    format!("{name}\t{}\n", figures::or_dash(value))
}

fn sentence(drain: &Drain) -> String {
    let mut sentence = go_time::seconds(drain.drained_at.as_ref());
    for (before, text) in
        [(" by ", &drain.drained_by), (": ", &drain.reason), ("; ", &drain.waiting_for)]
    {
        if !text.is_empty() {
            sentence = sentence + before + text;
        }
    }
    sentence
}

fn view(namespace: String, shard: ExplainShardResponse) -> View {
    View {
        namespace,
        shard_key: shard.shard_key,
        phase: shard.phase,
        owner: shard.owner,
        generation: shard.generation,
        smoothed_load: shard.smoothed_load,
        owned_since: shard.owned_since.map(|at| go_time::nanos(Some(&at))),
        because: shard.because,
        outlook: shard.outlook,
        drain: shard.drain.map(drain_view),
    }
}

fn drain_view(drain: Drain) -> DrainView {
    DrainView {
        drained_at: go_time::nanos(drain.drained_at.as_ref()),
        drained_by: drain.drained_by,
        reason: drain.reason,
        waiting_for: drain.waiting_for,
    }
}
