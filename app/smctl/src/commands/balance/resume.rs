//! `balance resume`: lifts `balance freeze`.

use anyhow::Result;
use plimsoll_wire::v1::ResumeBalanceRequest;

use super::Frozen;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let request = server.request(ResumeBalanceRequest { namespace: namespace.clone() });
    server.call("ResumeBalance", server.admin().resume_balance(request)).await?;
    output::print_json(&Frozen { namespace, frozen: false })
}
