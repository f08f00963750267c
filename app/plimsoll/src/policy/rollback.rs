//! `plimsoll policy rollback`: brings an earlier text back as a new revision.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use plimsoll_server::policies::json;
use plimsoll_wire::v1;

use super::remote::{CONFLICT, Remote};
use super::set::Author;
use super::{print, print_json};

#[derive(Args, Debug)]
pub(crate) struct Rollback {
    /// Whose policy
    #[arg(value_name = "SERVICE")]
    service: String,
    /// The revision to bring back
    #[arg(value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    revision: u64,
    /// Why, for the history
    #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
    comment: String,
    #[command(flatten)]
    author: Author,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Rollback {
    pub(super) fn run(&self) -> Result<ExitCode> {
        self.remote.run(async |server| {
            let (service, back) = (&self.service, self.revision);
            let wanted = server.get(service, back).await?;
            let newest = server.get(service, 0).await?;
            let request = v1::SetPolicyRequest {
                service: service.clone(),
                text: wanted.text,
                expected_revision: newest.revision,
                author: self.author.name(),
                comment: self.comment.clone(),
                rolled_back_to: back,
            };
            let saved = match server.set(request).await {
                Ok(saved) => saved,
                Err(refused) if refused.is_conflict() => {
                    eprintln!("plimsoll: {refused}");
                    return Ok(ExitCode::from(CONFLICT));
                }
                Err(refused) => return Err(refused.into()),
            };
            if self.json {
                print_json(&json::saved(&saved))?;
            } else {
                let revision = saved.revision;
                let text =
                    format!("{service}: revision {revision} saved, with the text of {back}\n");
                print(&text, &mut std::io::stdout())?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}
