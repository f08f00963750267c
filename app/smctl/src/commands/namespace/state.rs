//! `namespace state`: every executor with its shards, in the server's order.

use anyhow::Result;

use crate::go_views::NamespaceState;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session) -> Result<()> {
    let namespace = session.namespace()?;
    let answer = session.server()?.namespace_state(&namespace).await?;
    output::print_json(&NamespaceState::from(answer))
}
