//! `namespace settings`: shows settings, or changes the ones named.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use clap::Args;
use plimsoll_wire::v1::{DescribeNamespaceRequest, UpdateSettingsRequest};
use serde::Serialize;

use crate::output;
use crate::server::Server;
use crate::session::Session;
use crate::settings;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// A setting to change, repeatable; the others stay
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = settings::parse)]
    settings: Vec<(String, String)>,

    /// Print JSON instead of a table
    #[arg(long, short = 'j')]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    namespace: String,
    settings: BTreeMap<String, String>,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let changes = settings::collect(&arguments.settings)?;
    let server = session.server()?;
    let settings = if changes.is_empty() {
        current(&server, namespace.clone()).await?
    } else {
        changed(&server, namespace.clone(), changes).await?
    };
    print(namespace, settings.into_iter().collect(), arguments.json)
}

async fn current(server: &Server, name: String) -> Result<HashMap<String, String>> {
    let request = server.request(DescribeNamespaceRequest { name });
    let answer =
        server.call("DescribeNamespace", server.admin().describe_namespace(request)).await?;
    Ok(answer.settings)
}

async fn changed(
    server: &Server,
    namespace: String,
    settings: HashMap<String, String>,
) -> Result<HashMap<String, String>> {
    let request = server.request(UpdateSettingsRequest { namespace, settings });
    let answer = server.call("UpdateSettings", server.admin().update_settings(request)).await?;
    Ok(answer.settings)
}

fn print(namespace: String, settings: BTreeMap<String, String>, json: bool) -> Result<()> {
    if json {
        output::print_json(&Answer { namespace, settings })
    } else {
        output::print_table(&settings::rows(&settings))
    }
}
