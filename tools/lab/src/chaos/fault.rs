//! What is done to the system, and in which order: a seed gives the same order,
//! the same victims where they are free to choose, and the same times.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::namespaces::LEASE;

/// Chance, from the seed.
pub(super) type Dice = Pcg64Mcg;

/// A kind of fault.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Kind {
    KillLeader,
    StopLeader,
    KillExecutor,
    StopExecutor,
    KillEtcd,
    StopEtcd,
    CutServerEtcd,
    DeafServerEtcd,
    CutExecutorServer,
    DeafExecutorServer,
    MuteExecutorServer,
    CutServerServer,
    DeafServerServer,
    RefuseServerServer,
    UnplugLeader,
    CutEtcdEtcd,
    SlowLinks,
    FullEtcd,
    NoDiskEtcd,
    FullDiskEtcd,
    SlowDiskEtcd,
    StutterEtcd,
    RollServers,
    RollExecutors,
    EtcdAway,
    ServersAway,
    Drain,
}

/// What a fault may need that not every machine allows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Need {
    /// Network namespaces.
    Packets,
    /// A disk of its own for each member of etcd.
    Disks,
}

/// Name, whether executors feel it themselves, and what is done.
type About = (Kind, &'static str, bool, &'static str);

const ABOUT: [About; 27] = [
    (Kind::KillLeader, "kill-leader", false, "kill -9 of the server that leads, back after 3 s"),
    (
        Kind::StopLeader,
        "stop-leader",
        false,
        "SIGSTOP of the server that leads for longer than a lease",
    ),
    (Kind::KillExecutor, "kill-executor", true, "kill -9 of an executor, back after a while"),
    (Kind::StopExecutor, "stop-executor", true, "SIGSTOP of an executor for longer than a lease"),
    (Kind::KillEtcd, "kill-etcd", false, "kill -9 of a member of etcd, back after 3 s"),
    (Kind::StopEtcd, "stop-etcd", false, "SIGSTOP of a member of etcd for 5 s"),
    (Kind::CutServerEtcd, "cut-server-etcd", false, "the leader cannot reach etcd for 6 s"),
    (
        Kind::DeafServerEtcd,
        "deaf-server-etcd",
        false,
        "the leader's requests reach etcd, no answer comes back, 6 s",
    ),
    (
        Kind::CutExecutorServer,
        "cut-executor-server",
        true,
        "an executor reaches no server for longer than a lease",
    ),
    (
        Kind::DeafExecutorServer,
        "deaf-executor-server",
        true,
        "servers hear an executor, which hears nothing, for longer than a lease",
    ),
    (
        Kind::MuteExecutorServer,
        "mute-executor-server",
        true,
        "an executor hears servers, which do not hear it, for longer than a lease",
    ),
    (
        Kind::CutServerServer,
        "cut-server-server",
        false,
        "other servers cannot reach the leader for 6 s",
    ),
    (
        Kind::DeafServerServer,
        "deaf-server-server",
        false,
        "other servers' requests reach the leader, no answer comes back, 6 s",
    ),
    (
        Kind::RefuseServerServer,
        "refuse-server-server",
        false,
        "the leader refuses other servers' connections though it lives, 6 s",
    ),
    (
        Kind::UnplugLeader,
        "unplug-leader",
        false,
        "the server that leads is cut off from everybody, for longer than a lease",
    ),
    (
        Kind::CutEtcdEtcd,
        "cut-etcd-etcd",
        false,
        "the leading member of etcd reaches no other, 6 s; servers reach them all",
    ),
    (
        Kind::SlowLinks,
        "slow-links",
        false,
        "every link carries 512 kbit/s, or delays every chunk by 50 ms, for 5 s",
    ),
    (Kind::FullEtcd, "full-etcd", false, "etcd is filled to its quota: NOSPACE, mended after 5 s"),
    (
        Kind::NoDiskEtcd,
        "no-disk-etcd",
        false,
        "a member of etcd can write no more to its files, and starts anew after 3 s",
    ),
    (
        Kind::FullDiskEtcd,
        "full-disk-etcd",
        false,
        "the disk of a member of etcd is full; it has room, and starts anew, after 3 s",
    ),
    (
        Kind::SlowDiskEtcd,
        "slow-disk-etcd",
        false,
        "the disks of all members of etcd take 4 to 16 writes a second, for 5 s",
    ),
    (
        Kind::StutterEtcd,
        "stutter-etcd",
        false,
        "all members of etcd stand still for 200 of every 300 ms, for 5 s",
    ),
    (
        Kind::RollServers,
        "roll-servers",
        false,
        "SIGTERM of every server, one after the other, each back at once",
    ),
    (
        Kind::RollExecutors,
        "roll-executors",
        true,
        "SIGTERM of every executor, one after the other, each back at once",
    ),
    (Kind::EtcdAway, "etcd-away", false, "kill -9 of all of etcd, back after 20 s"),
    (
        Kind::ServersAway,
        "servers-away",
        true,
        "kill -9 of all servers, back after more than a lease",
    ),
    (Kind::Drain, "drain", true, "a shard and a host are drained, over the next two faults"),
];

impl Kind {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        ABOUT.iter().map(|about| about.0)
    }

    fn about(self) -> &'static About {
        // The table has a row for each: a test says so.
        ABOUT.iter().find(|about| about.0 == self).unwrap_or(&ABOUT[0])
    }

    pub(super) fn as_str(self) -> &'static str {
        self.about().1
    }

    pub(super) fn what(self) -> &'static str {
        self.about().3
    }

    /// Whether shards may well move: an executor was disturbed, or an operator
    /// wants it.
    pub(super) fn moves(self) -> bool {
        self.about().2
    }
}

impl Kind {
    /// What the machine must allow for it.
    pub(super) fn needs(self) -> Option<Need> {
        match self {
            Self::CutEtcdEtcd | Self::UnplugLeader => Some(Need::Packets),
            Self::FullDiskEtcd | Self::SlowDiskEtcd => Some(Need::Disks),
            _ => None,
        }
    }

    /// Whether clients may have to find another server.
    pub(super) fn changes_leaders(self) -> bool {
        let clients = matches!(self, Self::SlowLinks | Self::Drain);
        !clients && (!self.moves() || self == Self::ServersAway)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = || Kind::all().map(Kind::as_str).collect::<Vec<_>>().join(", ");
        let found = Kind::all().find(|kind| kind.as_str() == name);
        found.ok_or_else(|| format!("there is no fault {name:?}; the faults are: {}", known()))
    }
}

/// Faults without end, every kind once before any comes again.
#[derive(Debug)]
pub(super) struct Schedule {
    kinds: Vec<Kind>,
    round: Vec<Kind>,
    dice: Dice,
}

impl Schedule {
    /// Of these kinds, which are at least one.
    pub(super) fn new(kinds: Vec<Kind>, seed: u64) -> Self {
        Self { kinds, round: Vec::new(), dice: Dice::seed_from_u64(seed) }
    }

    /// The next fault, and the chance that it is carried out with: its own, so
    /// that how one fault went changes nothing of the next.
    pub(super) fn next(&mut self) -> Option<(Kind, Dice)> {
        if self.round.is_empty() {
            self.round.clone_from(&self.kinds);
            self.round.shuffle(&mut self.dice);
        }
        let dice = Dice::seed_from_u64(self.dice.random());
        Some((self.round.pop()?, dice))
    }
}

/// A time that no lease lasts for.
pub(super) fn past_a_lease(dice: &mut Dice) -> Duration {
    LEASE.mul_f64(dice.random_range(1.2..1.8))
}

/// A time around this one, from half to one and a half.
pub(super) fn about(span: Duration, dice: &mut Dice) -> Duration {
    span.mul_f64(dice.random_range(0.5..1.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, count: usize) -> Vec<Kind> {
        let mut schedule = Schedule::new(Kind::all().collect(), seed);
        (0..count).filter_map(|_| schedule.next()).map(|(kind, _)| kind).collect()
    }

    #[test]
    fn a_seed_gives_the_same_faults_again() {
        assert_eq!(drawn(7, 60), drawn(7, 60));
        assert_ne!(drawn(7, 60), drawn(8, 60));
    }

    #[test]
    fn every_kind_has_its_turn_in_every_round() {
        let mut round = drawn(3, ABOUT.len());
        round.sort();
        let mut all: Vec<_> = Kind::all().collect();
        all.sort();
        assert_eq!(round, all);
    }

    #[test]
    fn names_are_read_as_they_are_written_and_others_refused_with_the_known_ones() {
        for kind in Kind::all() {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("kill-all".parse::<Kind>().unwrap_err().contains("kill-leader"));
    }
}
