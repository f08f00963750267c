//! `executor undrain`: lifts drains; says which hosts were drained at all.

use anyhow::Result;
use plimsoll_wire::sharddistributor::UndrainHostsRequest;

use super::Hosts;
use crate::go_views::UndrainedHosts;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session, hosts: &Hosts) -> Result<()> {
    let hostnames = hosts.names()?;
    let namespace = session.namespace()?;
    let server = session.server()?;
    let request = server.request(UndrainHostsRequest { namespace, hostnames });
    let answer = server.call("UndrainHosts", server.go().undrain_hosts(request)).await?;
    output::print_json(&UndrainedHosts::from(answer))
}
