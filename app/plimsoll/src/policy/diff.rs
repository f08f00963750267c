//! `plimsoll policy diff`: what is different between two revisions, or a file and the
//! newest.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use similar::TextDiff;

use super::header::Draft;
use super::remote::{Asked, Remote};
use super::{print, set};

#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// Whose policy
    #[arg(value_name = "SERVICE")]
    service: String,
    /// A revision or a file [default: the revision before the newest]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// A revision or a file [default: the newest; if FROM is a file, the file is what is
    /// new]
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// Exit with 1 if there is a difference
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    remote: Remote,
}

/// One side: what it is called, and its text.
type Side = (String, String);

impl Diff {
    pub(super) fn run(&self) -> Result<ExitCode> {
        self.remote.run(async |server| {
            let (from, to) = self.sides(&server).await?;
            let diff = TextDiff::from_lines(&from.1, &to.1);
            let text = diff.unified_diff().header(&from.0, &to.0).to_string();
            print(&text, &mut std::io::stdout())?;
            let is_told = self.exit_code && !text.is_empty();
            Ok(if is_told { ExitCode::FAILURE } else { ExitCode::SUCCESS })
        })
    }

    async fn sides(&self, server: &Asked) -> Result<(Side, Side)> {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => {
                Ok((self.side(server, from).await?, self.side(server, to).await?))
            }
            (Some(from), None) => {
                let (given, newest) =
                    (self.side(server, from).await?, self.revision(server, 0).await?);
                let is_file = from.parse::<u64>().is_err();
                Ok(if is_file { (newest, given) } else { (given, newest) })
            }
            (None, _) => self.last_step(server).await,
        }
    }

    async fn last_step(&self, server: &Asked) -> Result<(Side, Side)> {
        let newest = server.get(&self.service, 0).await?;
        let before = match newest.revision.saturating_sub(1) {
            0 => (format!("{} (none)", self.service), String::new()),
            before => self.revision(server, before).await?,
        };
        Ok((before, (self.called(newest.revision), newest.text)))
    }

    async fn side(&self, server: &Asked, given: &str) -> Result<Side> {
        match given.parse() {
            Ok(0) => bail!("there is no revision 0: the first is 1"),
            Ok(revision) => self.revision(server, revision).await,
            Err(_) => Ok((given.to_owned(), Draft::parse(&set::read(Path::new(given))?).text)),
        }
    }

    /// 0: the newest.
    async fn revision(&self, server: &Asked, revision: u64) -> Result<Side> {
        let policy = server.get(&self.service, revision).await?;
        Ok((self.called(policy.revision), policy.text))
    }

    fn called(&self, revision: u64) -> String {
        format!("{} revision {revision}", self.service)
    }
}
