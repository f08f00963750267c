//! Proposals saved as the first revisions of their services.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use plimsoll_shedding::proposal::Proposal;
use plimsoll_wire::v1::SetPolicyRequest;

use crate::policy::remote::{Asked, CONFLICT, Remote};
use crate::policy::set::Author;

#[derive(Args, Debug)]
#[command(next_help_heading = "To save")]
pub(super) struct Saving {
    /// Save each policy on the server, in dry-run; a service that has one keeps it
    #[arg(long, conflicts_with_all = ["out", "json"])]
    pub(super) save: bool,
    #[command(flatten)]
    author: Author,
    #[command(flatten)]
    remote: Remote,
}

impl Saving {
    pub(super) fn run(&self, proposals: &[Proposal]) -> Result<ExitCode> {
        self.remote.run(async |server| self.save_all(&server, proposals).await)
    }

    async fn save_all(&self, server: &Asked, proposals: &[Proposal]) -> Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        for proposal in proposals {
            let service = &proposal.service;
            match server.set(self.request(proposal)).await {
                Ok(saved) => eprintln!("{service}: revision {} saved, in dry-run", saved.revision),
                Err(refused) if refused.is_conflict() => {
                    eprintln!("{service}: it has a policy already and keeps it");
                    code = ExitCode::from(CONFLICT);
                }
                Err(refused) => return Err(refused.into()),
            }
        }
        Ok(code)
    }

    fn request(&self, proposal: &Proposal) -> SetPolicyRequest {
        SetPolicyRequest {
            service: proposal.service.clone(),
            text: proposal.text(),
            expected_revision: 0,
            author: self.author.name(),
            comment: format!("proposed from {} traced calls", proposal.calls),
            rolled_back_to: 0,
        }
    }
}
