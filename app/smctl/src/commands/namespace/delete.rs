//! `namespace delete`: removes a namespace; its executors are told to stop.
//!
//! The name must be on the command line: a variable that happens to be set must
//! not choose what is deleted.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::v1::DeleteNamespaceRequest;
use serde::Serialize;

use crate::output;
use crate::prompt;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the namespace
    name: String,

    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Deleted {
    deleted: String,
}

pub(crate) async fn run(session: &Session, arguments: Arguments) -> Result<()> {
    let Arguments { name, yes } = arguments;
    if !yes {
        confirm(&name)?;
    }
    let server = session.server()?;
    let request = server.request(DeleteNamespaceRequest { name: name.clone() });
    server.call("DeleteNamespace", server.admin().delete_namespace(request)).await?;
    output::print_json(&Deleted { deleted: name })
}

fn confirm(name: &str) -> Result<()> {
    let question = format!(
        "This will DELETE namespace {name:?} and stop all of its shards. \
         Retype the namespace to confirm: "
    );
    prompt::retype(&question, name)
}
