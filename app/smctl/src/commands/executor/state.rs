//! `executor state`: one executor with its shards.

use anyhow::Result;
use clap::Args;
use plimsoll_wire::sharddistributor::GetExecutorStateRequest;

use crate::go_views::ExecutorState;
use crate::output;
use crate::session::{Session, required};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Executor ID to look up
    #[arg(long, visible_alias = "eid")]
    executor_id: Option<String>,
}

pub(crate) async fn run(session: &Session, arguments: &Arguments) -> Result<()> {
    let namespace = session.namespace()?;
    let executor_id = required("executor-id", arguments.executor_id.as_deref())?;
    let server = session.server()?;
    let request = server.request(GetExecutorStateRequest { namespace, executor_id });
    let answer = server.call("GetExecutorState", server.go().get_executor_state(request)).await?;
    output::print_json(&ExecutorState::from(answer))
}
