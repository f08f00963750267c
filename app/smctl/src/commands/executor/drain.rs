//! `executor drain`: an operator's order that hosts carry no work.
//!
//! Shows what the hosts hold, asks, gives the order, and on demand waits until
//! nothing runs there any more. Interrupting the wait takes nothing back.

mod preview;
mod wait;

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use plimsoll_wire::sharddistributor::{DrainHostsRequest, DrainedHost, GetDrainedHostsRequest};
use serde::Serialize;

use super::Hosts;
use crate::output::{self, Colour, coloured, say};
use crate::prompt;
use crate::server::Server;
use crate::session::Session;
use crate::{go_duration, os_user};

const NOTICE: &str = "Note: Hosts are marked as drained immediately. Shards are moved off drained \
    hosts during the next rebalance cycle, so it may take a short time before they are fully \
    reassigned.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    hosts: Hosts,

    /// Reason for draining
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,

    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,

    /// Wait until the hosts are empty, showing progress
    #[arg(long)]
    wait: bool,

    /// With --wait: give up after this long (the hosts stay drained)
    #[arg(long, default_value = "10m", value_parser = go_duration::parse)]
    timeout: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Echo {
    namespace: String,
    hosts: Vec<HostEcho>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct HostEcho {
    hostname: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    drained_by: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
}

pub(crate) async fn run(session: &Session, arguments: Arguments) -> Result<()> {
    let hostnames = arguments.hosts.names()?;
    let namespace = session.namespace()?;
    let server = session.server()?;
    let held = show_what_moves(&server, &namespace, &hostnames).await?;
    if !arguments.yes {
        prompt::confirm("Proceed with draining? [y/N]: ", "drain aborted")?;
    }
    let echo = drain(&server, &namespace, &hostnames, arguments.reason).await?;
    say(&coloured(Colour::Yellow, NOTICE));
    if arguments.wait {
        let hosts = wait::Hosts { server: &server, namespace: &namespace, hostnames: &hostnames };
        hosts.until_empty(held, arguments.timeout).await?;
    }
    output::print_json(&echo)
}

/// Returns how many shards the hosts hold.
async fn show_what_moves(server: &Server, namespace: &str, hostnames: &[String]) -> Result<usize> {
    let state = server.namespace_state(namespace).await?;
    let drained = drained_hosts(server, namespace).await?;
    let preview = preview::preview(hostnames, &state.executors, &drained);
    for line in preview {
        say(&match line.colour {
            Some(colour) => coloured(colour, &line.text),
            None => line.text,
        });
    }
    Ok(preview::held(hostnames, &state.executors))
}

async fn drained_hosts(server: &Server, namespace: &str) -> Result<HashSet<String>> {
    let request = server.request(GetDrainedHostsRequest { namespace: namespace.to_owned() });
    let answer = server.call("GetDrainedHosts", server.go().get_drained_hosts(request)).await?;
    Ok(answer.hosts.into_iter().map(|host| host.hostname).collect())
}

async fn drain(
    server: &Server,
    namespace: &str,
    hostnames: &[String],
    reason: String,
) -> Result<Echo> {
    let drained_by = os_user::name();
    let order = |hostname: &String| DrainedHost {
        hostname: hostname.clone(),
        drained_at: None,
        drained_by: drained_by.clone(),
        reason: reason.clone(),
    };
    let hosts: Vec<DrainedHost> = hostnames.iter().map(order).collect();
    let request =
        server.request(DrainHostsRequest { namespace: namespace.to_owned(), hosts: hosts.clone() });
    server.call("DrainHosts", server.go().drain_hosts(request)).await?;
    Ok(Echo { namespace: namespace.to_owned(), hosts: hosts.into_iter().map(echo).collect() })
}

fn echo(host: DrainedHost) -> HostEcho {
    HostEcho { hostname: host.hostname, drained_by: host.drained_by, reason: host.reason }
}
