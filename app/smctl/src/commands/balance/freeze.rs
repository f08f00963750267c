//! `balance freeze`: no move for balance until `balance resume`.

use anyhow::Result;
use plimsoll_wire::v1::FreezeBalanceRequest;

use super::Frozen;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let request = server.request(FreezeBalanceRequest { namespace: namespace.clone() });
    server.call("FreezeBalance", server.admin().freeze_balance(request)).await?;
    output::print_json(&Frozen { namespace, frozen: true })
}
