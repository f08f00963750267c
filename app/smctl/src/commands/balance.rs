//! `balance`: stop the moves for balance, let them go on, or look ahead.

mod freeze;
mod plan;
mod resume;

use anyhow::Result;
use clap::Subcommand;
use serde::Serialize;

use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make no move for balance; lost and drained shards still move
    Freeze,

    /// Let moves for balance go on
    Resume,

    /// Show what the next cycle would do and why; changes nothing
    Plan(plan::Arguments),
}

/// What `freeze` and `resume` print.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Frozen {
    namespace: String,
    frozen: bool,
}

pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Freeze => freeze::run(session).await,
        Command::Resume => resume::run(session).await,
        Command::Plan(arguments) => plan::run(session, arguments).await,
    }
}
