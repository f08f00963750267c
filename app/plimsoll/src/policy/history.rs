//! `plimsoll policy history`: who changed what, and why.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use plimsoll_server::policies::json;
use plimsoll_wire::v1;

use super::remote::Remote;
use super::table::{clean, table};
use super::{print, print_json};

#[derive(Args, Debug)]
pub(crate) struct History {
    /// Whose policy
    #[arg(value_name = "SERVICE")]
    service: String,
    /// How many revisions, the newest first; 200 are kept
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl History {
    pub(super) fn run(&self) -> Result<ExitCode> {
        self.remote.run(async |server| {
            let history = server.history(&self.service, self.limit).await?;
            if self.json {
                print_json(&json::history(&history))?;
                return Ok(ExitCode::SUCCESS);
            }
            let rows: Vec<_> = history.revisions.iter().map(row).collect();
            print(&table(["REVISION", "SAVED", "BY", "COMMENT"], &rows), &mut std::io::stdout())?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn row(it: &v1::PolicyRevision) -> [String; 4] {
    let comment = match (it.rolled_back_to, clean(&it.comment)) {
        (0, comment) => comment,
        (to, comment) if comment.is_empty() => format!("(back to {to})"),
        (to, comment) => format!("(back to {to}) {comment}"),
    };
    let saved = it.saved_at.as_ref().map(ToString::to_string).unwrap_or_default();
    [it.revision.to_string(), saved, clean(&it.author), comment]
}
