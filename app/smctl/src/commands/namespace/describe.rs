//! `namespace describe`: how a namespace is doing, and what is not well.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use plimsoll_wire::v1::{DescribeNamespaceRequest, DescribeNamespaceResponse};
use serde::Serialize;

use crate::figures::{self, BalanceView};
use crate::output;
use crate::session::Session;
use crate::tabwriter;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Print JSON instead of text
    #[arg(long, short = 'j')]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct View {
    name: String,
    r#type: String,
    shard_num: u64,
    frozen: bool,
    revision: u64,
    shards: u64,
    shards_without_owner: u64,
    shards_in_handover: u64,
    moves: u64,
    balance: Option<BalanceView>,
    conditions: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    leader_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    leader_address: String,
    settings: BTreeMap<String, String>,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let name = session.namespace()?;
    let server = session.server()?;
    let request = server.request(DescribeNamespaceRequest { name });
    let answer =
        server.call("DescribeNamespace", server.admin().describe_namespace(request)).await?;
    if arguments.json {
        output::print_json(&View::from(answer))
    } else {
        output::print(&text(&answer))
    }
}

fn text(namespace: &DescribeNamespaceResponse) -> String {
    let facts = tabwriter::align(&facts(namespace));
    let balance = namespace.balance.unwrap_or_default();
    let heading = figures::BALANCE_HEADING;
    let row = figures::balance_row(&balance);
    let balance = tabwriter::align(&format!("{heading}\n{row}\n"));
    format!("{facts}\n{balance}\n{}", conditions(&namespace.conditions))
}

fn facts(namespace: &DescribeNamespaceResponse) -> String {
    let facts = format!(
        "Namespace\t{}\nType\t{}\nShards\t{}\nWithout owner\t{}\nIn handover\t{}\nMoves\t{}\n\
         Frozen\t{}\nRevision\t{}\n",
        namespace.name,
        namespace.r#type,
        namespace.shards,
        namespace.shards_without_owner,
        namespace.shards_in_handover,
        namespace.moves,
        if namespace.frozen { "yes" } else { "no" },
        namespace.revision,
    );
    match namespace.leader_id.as_str() {
        // There is only one server.
        "" => facts,
        id => format!("{facts}Leader\t{} ({id})\n", namespace.leader_address),
    }
}

fn conditions(conditions: &[String]) -> String {
    if conditions.is_empty() {
        return "All well.\n".to_owned();
    }
    conditions.iter().map(|condition| format!("! {condition}\n")).collect()
}

impl From<DescribeNamespaceResponse> for View {
    fn from(answer: DescribeNamespaceResponse) -> Self {
        Self {
            name: answer.name,
            r#type: answer.r#type,
            shard_num: answer.shard_num,
            frozen: answer.frozen,
            revision: answer.revision,
            shards: answer.shards,
            shards_without_owner: answer.shards_without_owner,
            shards_in_handover: answer.shards_in_handover,
            moves: answer.moves,
            balance: answer.balance.map(BalanceView::from),
            conditions: answer.conditions,
            leader_id: answer.leader_id,
            leader_address: answer.leader_address,
            settings: answer.settings.into_iter().collect(),
        }
    }
}
