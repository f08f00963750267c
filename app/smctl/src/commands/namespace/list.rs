//! `namespace list`: all namespaces of the server.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::sharddistributor::{
    ListNamespacesRequest, ListNamespacesResponse, NamespaceConfig,
};

use crate::go_views::Namespaces;
use crate::output;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Print the response as indented JSON instead of a table
    #[arg(long, short = 'j')]
    json: bool,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let server = session.server()?;
    let request = server.request(ListNamespacesRequest {});
    let answer = server.call("ListNamespaces", server.go().list_namespaces(request)).await?;
    if arguments.json {
        output::print_json(&Namespaces::from(answer))
    } else {
        output::print_table(&table(answer))
    }
}

fn table(answer: ListNamespacesResponse) -> String {
    let mut namespaces = answer.namespaces;
    namespaces.sort_by(|a, b| a.name.cmp(&b.name));
    format!("NAME\tTYPE\tMODE\tSHARDS\n{}", namespaces.iter().map(line).collect::<String>())
}

fn line(namespace: &NamespaceConfig) -> String {
    let NamespaceConfig { name, r#type, mode, shard_num } = namespace;
    let shards = if *shard_num > 0 { shard_num.to_string() } else { "-".to_owned() };
    format!("{name}\t{type}\t{mode}\t{shards}\n")
}
