//! Every link of a run that can be cut.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use plimsoll_testkit::chaos::{LinkState, Relay};

use super::addresses::{ETCD, EXECUTORS, End, Net, SERVERS, SPECTATORS};

#[derive(Debug)]
pub(super) struct Links {
    net: Net,
    all: BTreeMap<(End, End), Relay>,
}

impl Links {
    /// Servers to etcd and to each other, executors and spectators to servers.
    pub(super) async fn start(net: Net) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (from, to) in pairs() {
            let relay = Relay::start(net.link(from, to), net.of(to)).await;
            let relay = relay.with_context(|| format!("no link from {from:?} to {to:?}"))?;
            all.insert((from, to), relay);
        }
        Ok(Self { net, all })
    }

    /// Where `from` finds `to`.
    pub(super) fn address(&self, from: End, to: End) -> SocketAddr {
        self.net.link(from, to)
    }

    /// Changes the links that are meant.
    pub(super) fn set(&self, which: impl Fn(End, End) -> bool, state: LinkState) {
        for ((from, to), relay) in &self.all {
            if which(*from, *to) {
                relay.set(LinkState { refuses: relay.state().refuses, ..state });
            }
        }
    }

    /// Nobody listens there, or somebody does again.
    pub(super) fn refuse(&self, dead: End, refuses: bool) {
        for (_, relay) in self.all.iter().filter(|((_, to), _)| *to == dead) {
            relay.set(LinkState { refuses, ..relay.state() });
        }
    }
}

fn pairs() -> Vec<(End, End)> {
    let mut pairs = Vec::new();
    for server in (0..SERVERS).map(End::Server) {
        pairs.extend((0..ETCD).map(|n| (server, End::Etcd(n))));
        pairs.extend((0..EXECUTORS).map(|n| (End::Executor(n), server)));
        pairs.extend((0..SPECTATORS).map(|n| (End::Spectator(n), server)));
        pairs.push((End::Servers, server));
    }
    pairs
}
