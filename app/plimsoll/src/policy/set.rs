//! `plimsoll policy set`: a new revision, unless somebody else has saved one since the
//! file was got.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use plimsoll_server::policies::json;
use plimsoll_wire::v1;

use super::header::{Draft, Origin};
use super::remote::{Asked, CONFLICT, Remote};
use super::{os_user, print, print_json};

#[derive(Args, Debug)]
pub(crate) struct Set {
    /// Whose policy
    #[arg(value_name = "SERVICE")]
    service: String,
    /// The policy; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The revision that was edited, or `newest` to save over whatever is there
    /// [default: what the first line of the file says, if `get` wrote it]
    #[arg(long, value_name = "N|newest", value_parser = expect)]
    expect: Option<Expect>,
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

/// Who saves.
#[derive(Args, Debug)]
pub(super) struct Author {
    /// Who saves, for the history [default: the user of this system]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

impl Author {
    pub(super) fn name(&self) -> String {
        self.author.clone().unwrap_or_else(os_user::name)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expect {
    Newest,
    Revision(u64),
}

fn expect(text: &str) -> Result<Expect, String> {
    match (text, text.parse()) {
        ("newest", _) => Ok(Expect::Newest),
        (_, Ok(revision)) => Ok(Expect::Revision(revision)),
        _ => Err("it is a revision such as 7, 0 if there is no policy yet, or newest".to_owned()),
    }
}

impl Set {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let draft = Draft::parse(&read(&self.file)?);
        self.remote.run(async |server| self.save(&server, &draft).await)
    }

    async fn save(&self, server: &Asked, draft: &Draft) -> Result<ExitCode> {
        let newest = server.newest(&self.service).await?;
        let present = newest.as_ref().map_or(0, |newest| newest.revision);
        if newest.is_some_and(|newest| newest.text == draft.text) {
            return self.tell(v1::SetPolicyResponse { revision: present, findings: vec![] }, false);
        }
        let expected_revision = self.expected(draft, present)?;
        let request = v1::SetPolicyRequest {
            service: self.service.clone(),
            text: draft.text.clone(),
            expected_revision,
            author: self.author.name(),
            comment: self.comment.clone(),
            rolled_back_to: 0,
        };
        match server.set(request).await {
            Ok(saved) => {
                if draft.from.is_some() {
                    rewrite(&self.file, &self.service, saved.revision, &draft.text)?;
                }
                self.tell(saved, true)
            }
            Err(refused) if refused.is_conflict() => {
                eprintln!("plimsoll: {refused}");
                let service = &self.service;
                eprintln!("see what changed: plimsoll policy diff {service} {expected_revision}");
                Ok(ExitCode::from(CONFLICT))
            }
            Err(refused) => Err(refused.in_file(&self.file, draft.above())),
        }
    }

    /// The revision that was edited.
    fn expected(&self, draft: &Draft, present: u64) -> Result<u64> {
        let (service, file) = (&self.service, self.file.display());
        match (self.expect, &draft.from) {
            (Some(Expect::Revision(revision)), _) => Ok(revision),
            (Some(Expect::Newest), _) => Ok(present),
            (None, Some(from)) if from.service == *service => Ok(from.revision),
            (None, Some(from)) => bail!(
                "{file} was got from service {:?}: to save it for {service} say --expect {present}",
                from.service
            ),
            (None, None) if present == 0 => Ok(0),
            (None, None) => bail!(
                "{file} does not say which revision it was made from, and {service} is at {present}: \
                 look at `plimsoll policy diff {service} {file}`, then say --expect {present}"
            ),
        }
    }

    fn tell(&self, saved: v1::SetPolicyResponse, is_new: bool) -> Result<ExitCode> {
        if self.json {
            print_json(&json::saved(&saved))?;
            return Ok(ExitCode::SUCCESS);
        }
        let (service, revision) = (&self.service, saved.revision);
        let mut text = match is_new {
            true => format!("{service}: revision {revision} saved\n"),
            false => format!("{service}: revision {revision} says the same: nothing to save\n"),
        };
        for finding in saved.findings {
            text += &format!("  {finding}\n");
        }
        print(&text, &mut std::io::stdout())?;
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) fn read(file: &Path) -> Result<String> {
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// The file says what it is now, so that it can be edited again.
fn rewrite(file: &Path, service: &str, revision: u64, text: &str) -> Result<()> {
    if file.as_os_str() == "-" {
        return Ok(());
    }
    let from = Origin { service: service.to_owned(), revision };
    let why = || {
        format!(
            "revision {revision} is saved, but {} cannot be written: its first line says an older one",
            file.display()
        )
    };
    std::fs::write(file, from.line() + text).with_context(why)
}
