//! Every link of a run that can be cut: by dropping its packets, or by a relay in its
//! midst where the machine allows nothing better.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use anyhow::{Context, Result};
use plimsoll_testkit::chaos::{Fate, Fates, Flow, LinkState, Network, Relay};

use super::addresses::{ETCD, EXECUTORS, End, Net, SERVERS, SPECTATORS};

#[derive(Debug)]
pub(super) struct Links {
    net: Net,
    /// What links do that do not just pass.
    states: BTreeMap<(End, End), LinkState>,
    by: By,
}

#[derive(Debug)]
enum By {
    Packets(Network),
    Relays {
        all: BTreeMap<(End, End), Relay>,
        /// Processes that are dead: a relay would go on accepting for them.
        dead: BTreeSet<End>,
    },
}

impl Links {
    /// Every process on a host of its own.
    pub(super) fn of_packets() -> Result<Self> {
        let net = Net::of_namespaces();
        let hosts = End::all().map(|end| (end.to_string(), net.host(end))).collect();
        let network = Network::build(hosts).context("there is no network for the run")?;
        Ok(Self { net, states: BTreeMap::new(), by: By::Packets(network) })
    }

    /// A relay for each link that clients make; members of etcd are not cut off from
    /// each other.
    pub(super) async fn of_relays() -> Result<Self> {
        let net = Net::of_this_process();
        let mut all = BTreeMap::new();
        for (from, to) in pairs().into_iter().filter(|(from, _)| *from != End::Members) {
            let relay = Relay::start(net.link(from, to), net.of(to)).await;
            let relay = relay.with_context(|| format!("no link from {from} to {to}"))?;
            all.insert((from, to), relay);
        }
        Ok(Self { net, states: BTreeMap::new(), by: By::Relays { all, dead: BTreeSet::new() } })
    }

    pub(super) fn net(&self) -> Net {
        self.net
    }

    /// Where `from` finds `to`.
    pub(super) fn address(&self, from: End, to: End) -> SocketAddr {
        match self.by {
            By::Packets(_) => self.net.of(to),
            By::Relays { .. } => self.net.link(from, to),
        }
    }

    /// What starts the process of this end on its host.
    pub(super) fn starter(&self, end: End) -> Vec<String> {
        match self.by {
            By::Packets(_) => Network::on(&end.to_string()),
            By::Relays { .. } => Vec::new(),
        }
    }

    /// Changes the links that are meant.
    pub(super) fn set(&mut self, which: impl Fn(End, End) -> bool, state: LinkState) -> Result<()> {
        for (from, to) in pairs().into_iter().filter(|(from, to)| which(*from, *to)) {
            if state == LinkState::default() {
                self.states.remove(&(from, to));
            } else {
                self.states.insert((from, to), state);
            }
        }
        self.apply()
    }

    /// Nobody listens there, or somebody does again.
    pub(super) fn refuse(&mut self, end: End, refuses: bool) -> Result<()> {
        match &mut self.by {
            // The kernel of its host answers for the dead.
            By::Packets(_) => return Ok(()),
            By::Relays { dead, .. } if refuses => dead.insert(end),
            By::Relays { dead, .. } => dead.remove(&end),
        };
        self.apply()
    }

    fn apply(&mut self) -> Result<()> {
        let Self { net, states, by } = self;
        match by {
            By::Packets(network) => {
                network.set(fates(*net, states))?;
                network.thin(thin(states))?;
            }
            By::Relays { all, dead } => {
                for (link, relay) in all {
                    let state = states.get(link).copied().unwrap_or_default();
                    let refuses = state.refuses || dead.contains(&link.1);
                    relay.set(LinkState { refuses, ..state });
                }
            }
        }
        Ok(())
    }
}

/// Which packets are lost or refused if links do this.
fn fates(net: Net, states: &BTreeMap<(End, End), LinkState>) -> Fates {
    let mut fates = Fates::new();
    for ((from, to), state) in states {
        for from in from.processes(*to) {
            let (there, back) = ((net.host(from), net.host(*to)), (net.host(*to), net.host(from)));
            if state.refuses {
                fates.insert(there, Fate::Refused);
            }
            if state.there == Flow::Stalls {
                fates.insert(there, Fate::Lost);
            }
            if state.back == Flow::Stalls {
                fates.insert(back, Fate::Lost);
            }
        }
    }
    fates
}

/// Who has a slow link: all that comes to it is slow then.
fn thin(states: &BTreeMap<(End, End), LinkState>) -> BTreeSet<String> {
    let slow = states.iter().filter(|(_, state)| !state.delay.is_zero());
    let ends = slow.flat_map(|((from, to), _)| from.processes(*to).into_iter().chain([*to]));
    ends.map(|end| end.to_string()).collect()
}

fn pairs() -> Vec<(End, End)> {
    let mut pairs = Vec::new();
    for server in (0..SERVERS).map(End::Server) {
        pairs.extend((0..ETCD).map(|n| (server, End::Etcd(n))));
        pairs.extend((0..EXECUTORS).map(|n| (End::Executor(n), server)));
        pairs.extend((0..SPECTATORS).map(|n| (End::Spectator(n), server)));
        pairs.push((End::Servers, server));
    }
    pairs.extend((0..ETCD).map(|n| (End::Members, End::Etcd(n))));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates_of(from: End, to: End, state: LinkState) -> Vec<(String, String, Fate)> {
        let net = Net::of_namespaces();
        let name = |address| End::all().find(|end| net.host(*end) == address).unwrap().to_string();
        let fates = fates(net, &BTreeMap::from([((from, to), state)]));
        fates.into_iter().map(|((from, to), fate)| (name(from), name(to), fate)).collect()
    }

    fn lost(from: &str, to: &str) -> (String, String, Fate) {
        (from.to_owned(), to.to_owned(), Fate::Lost)
    }

    #[test]
    fn a_cut_loses_packets_both_ways_and_a_deaf_end_only_those_that_come_back() {
        let deaf = LinkState { back: Flow::Stalls, ..LinkState::default() };
        let cut = LinkState { there: Flow::Stalls, ..deaf };
        let (from, to) = (End::Executor(1), End::Server(2));
        let (there, back) = (lost("executor-1", "server-2"), lost("server-2", "executor-1"));
        assert_eq!(fates_of(from, to, deaf), std::slice::from_ref(&back));
        assert_eq!(fates_of(from, to, cut), [back, there]);
    }

    #[test]
    fn whichever_server_is_every_one_but_that_at_the_other_end() {
        let refuses = LinkState { refuses: true, ..LinkState::default() };
        let refused = |from: &str| (from.to_owned(), "server-1".to_owned(), Fate::Refused);
        let fates = fates_of(End::Servers, End::Server(1), refuses);
        assert_eq!(fates, [refused("server-0"), refused("server-2")]);
    }
}
