//! `plimsoll policy list`: every service that has a policy or instances.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use plimsoll_server::policies::json;
use plimsoll_wire::v1;

use super::remote::Remote;
use super::table::{clean, table};
use super::{print, print_json};

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

const HEAD: [&str; 7] = [
    "SERVICE",
    "REVISION",
    "INSTANCES",
    "UP TO DATE",
    "REQUESTS/S",
    "SHED",
    "UNCLASSIFIED CALLERS",
];

impl List {
    pub(super) fn run(&self) -> Result<ExitCode> {
        self.remote.run(async |server| {
            let list = server.list().await?;
            if self.json {
                print_json(&json::list(&list))?;
                return Ok(ExitCode::SUCCESS);
            }
            let rows: Vec<_> = list.services.iter().map(row).collect();
            print(&table(HEAD, &rows), &mut std::io::stdout())?;
            say_left_out(&list.servers_left_out);
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn row(it: &v1::ServiceSummary) -> [String; 7] {
    let revision = if it.revision == 0 { "none".to_owned() } else { it.revision.to_string() };
    [
        clean(&it.service),
        revision,
        it.instances.to_string(),
        it.up_to_date.to_string(),
        format!("{:.1}", it.rate),
        format!("{:.1}%", it.shed_share * 100.0),
        it.unclassified_callers.to_string(),
    ]
}

/// What a table lacks.
pub(super) fn say_left_out(servers: &[String]) {
    if !servers.is_empty() {
        eprintln!(
            "plimsoll: without what these servers see, which do not answer: {}",
            servers.join(", ")
        );
    }
}
