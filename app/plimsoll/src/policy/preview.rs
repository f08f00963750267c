//! `plimsoll policy preview`: what a file would have done with the traffic of the last
//! minutes.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use plimsoll_server::policies::json;
use plimsoll_wire::v1;

use super::header::Draft;
use super::list::say_left_out;
use super::remote::Remote;
use super::table::{clean, table};
use super::{print, print_json, set};

#[derive(Args, Debug)]
pub(crate) struct Preview {
    /// Whose traffic
    #[arg(value_name = "SERVICE")]
    service: String,
    /// The policy; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Preview {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let draft = Draft::parse(&set::read(&self.file)?);
        self.remote.run(async |server| {
            let preview = server.preview(&self.service, draft.text.clone()).await;
            let preview = preview.map_err(|it| it.in_file(&self.file, draft.above()))?;
            if self.json {
                print_json(&json::preview(&preview))?;
                return Ok(ExitCode::SUCCESS);
            }
            print(&told(&preview), &mut std::io::stdout())?;
            say_left_out(&preview.servers_left_out);
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn told(preview: &v1::PreviewPolicyResponse) -> String {
    let mut text = String::new();
    for finding in &preview.findings {
        text += &format!("{finding}\n");
    }
    let seconds = preview.over.as_ref().map_or(0, |over| over.seconds);
    if seconds == 0 {
        return text + "no instance has told what it sees: nothing to compare with\n";
    }
    if preview.changes.is_empty() {
        text += "no endpoint and caller that was seen gets another level or enforcement\n";
    } else {
        let rows: Vec<_> = preview.changes.iter().map(change).collect();
        text += &table(["REQUESTS/S", "FROM", "TO", "CALLER", "ENDPOINT"], &rows);
    }
    text += &format!("\nthe last {seconds} s, as they were and as they would have been:\n");
    let rows: Vec<_> = preview.shed.iter().map(level).collect();
    text + &table(["LEVEL", "REQUESTS", "SHED", "WOULD HAVE HAD", "WOULD HAVE SHED"], &rows)
}

fn change(it: &v1::LevelChange) -> [String; 5] {
    let standing = |level: u32, enforcement: &str| match enforcement {
        "enforce" => level.to_string(),
        other => format!("{level} {other}"),
    };
    let caller = if it.caller.is_empty() { "(no name)".to_owned() } else { clean(&it.caller) };
    [
        format!("{:.1}", it.rate),
        standing(it.from_level, &it.from_enforcement),
        standing(it.to_level, &it.to_enforcement),
        caller,
        clean(&it.endpoint),
    ]
}

fn level(it: &v1::LevelShed) -> [String; 5] {
    [
        it.level.to_string(),
        it.requests.to_string(),
        it.shed.to_string(),
        it.would_have.to_string(),
        it.would_shed.to_string(),
    ]
}
