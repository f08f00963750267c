//! `plimsoll policy get`: one revision, as a policy file.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use plimsoll_server::policies::json;

use super::header::Origin;
use super::remote::Remote;
use super::{print, print_json};

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Whose policy
    #[arg(value_name = "SERVICE")]
    service: String,
    /// Which revision [default: the newest]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    revision: u64,
    /// Leave out the first line, which says the revision: `set` will not know it
    #[arg(long)]
    bare: bool,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Get {
    pub(super) fn run(&self) -> Result<ExitCode> {
        self.remote.run(async |server| {
            let policy = server.get(&self.service, self.revision).await?;
            if self.json {
                print_json(&json::revision(&policy))?;
                return Ok(ExitCode::SUCCESS);
            }
            let from = Origin { service: policy.service, revision: policy.revision };
            let line = if self.bare { String::new() } else { from.line() };
            print(&(line + &policy.text), &mut std::io::stdout())?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
