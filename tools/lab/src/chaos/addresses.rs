//! Who lives where: every process has an address of its own, in a network that is the
//! run's alone, or on the loopback in a net that two runs at once are unlikely to share.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

/// How many of each there are.
pub(super) const ETCD: usize = 3;
pub(super) const SERVERS: usize = 3;
pub(super) const EXECUTORS: usize = 10;
pub(super) const SPECTATORS: usize = 4;

/// The first three bytes of every address of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Net([u8; 3]);

/// One end of a link; numbers begin with 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum End {
    Etcd(usize),
    Server(usize),
    Executor(usize),
    Spectator(usize),
    /// Whichever server: they all know a server by the one address that it tells.
    Servers,
    /// Whichever member of etcd, likewise.
    Members,
}

impl Net {
    /// In network namespaces.
    pub(super) const fn of_namespaces() -> Self {
        Self([10, 77, 0])
    }

    /// On the loopback, by the id of this process.
    pub(super) fn of_this_process() -> Self {
        let id = std::process::id();
        Self([127, 64 + (id % 128) as u8, (id / 128 % 256) as u8])
    }

    /// Where the process listens, for requests of its own kind.
    pub(super) fn of(self, end: End) -> SocketAddr {
        let port = match end {
            End::Etcd(_) | End::Members => 2379,
            End::Server(_) | End::Servers => 7943,
            End::Executor(_) | End::Spectator(_) => 8080,
        };
        self.at(end.host(), port)
    }

    pub(super) fn etcd_peer(self, n: usize) -> SocketAddr {
        self.at(End::Etcd(n).host(), 2380)
    }

    pub(super) fn http(self, server: usize) -> SocketAddr {
        self.at(End::Server(server).host(), 7944)
    }

    /// Where `from` connects in order to reach `to`: a port for each who connects.
    pub(super) fn link(self, from: End, to: End) -> SocketAddr {
        self.at(100 + to.host(), 20_000 + u16::from(from.host()))
    }

    /// Of a process.
    pub(super) fn host(self, end: End) -> Ipv4Addr {
        self.address(end.host())
    }

    fn at(self, host: u8, port: u16) -> SocketAddr {
        SocketAddr::from((self.address(host), port))
    }

    fn address(self, host: u8) -> Ipv4Addr {
        let [a, b, c] = self.0;
        Ipv4Addr::new(a, b, c, host)
    }
}

impl End {
    /// The last byte of its address, below 100: there are few of each.
    const fn host(self) -> u8 {
        match self {
            Self::Etcd(n) => 1 + n as u8,
            Self::Server(n) => 11 + n as u8,
            Self::Executor(n) => 21 + n as u8,
            Self::Spectator(n) => 51 + n as u8,
            Self::Servers => 81,
            Self::Members => 82,
        }
    }

    /// Everybody who is a process.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let etcd = (0..ETCD).map(Self::Etcd);
        let servers = (0..SERVERS).map(Self::Server);
        let executors = (0..EXECUTORS).map(Self::Executor);
        etcd.chain(servers).chain(executors).chain((0..SPECTATORS).map(Self::Spectator))
    }

    /// The processes that are meant, if it is one end of a link to that other one.
    pub(super) fn processes(self, other: Self) -> Vec<Self> {
        let others = |all: Vec<Self>| all.into_iter().filter(|it| *it != other).collect();
        match self {
            Self::Servers => others((0..SERVERS).map(Self::Server).collect()),
            Self::Members => others((0..ETCD).map(Self::Etcd).collect()),
            Self::Etcd(_) | Self::Server(_) | Self::Executor(_) | Self::Spectator(_) => vec![self],
        }
    }
}

impl fmt::Display for End {
    /// As its process is called.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // etcd's own names count from 1.
            Self::Etcd(n) => write!(f, "etcd-{}", n + 1),
            Self::Server(n) => write!(f, "server-{n}"),
            Self::Executor(n) => write!(f, "executor-{n}"),
            Self::Spectator(n) => write!(f, "spectator-{n}"),
            Self::Servers => f.write_str("servers"),
            Self::Members => f.write_str("members"),
        }
    }
}
