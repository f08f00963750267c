//! `executor list-drained`: drained hosts, since when, by whom and why.

use anyhow::Result;
use plimsoll_wire::sharddistributor::GetDrainedHostsRequest;

use crate::go_views::DrainedHosts;
use crate::output;
use crate::session::Session;

pub(crate) async fn run(session: &Session) -> Result<()> {
    let namespace = session.namespace()?;
    let server = session.server()?;
    let request = server.request(GetDrainedHostsRequest { namespace });
    let answer = server.call("GetDrainedHosts", server.go().get_drained_hosts(request)).await?;
    output::print_json(&DrainedHosts::from(answer))
}
