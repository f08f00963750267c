//! Carries out faults, one at a time, and mends what it broke.

mod disks;
mod etcd;
mod executors;
mod links;
mod servers;

use anyhow::Result;
use plimsoll_testkit::chaos::Moment;
use rand::RngExt;

use super::addresses::SERVERS;
use super::fault::{Dice, Kind};
use super::namespaces::{self, CREATED};
use super::operator::Operator;
use super::oracle::Drain;
use super::scene::Scene;
use super::story::Story;

/// Everything that a fault may touch.
pub(super) struct World<'a> {
    pub(super) scene: &'a mut Scene,
    pub(super) story: &'a Story,
    pub(super) operator: &'a Operator,
    pub(super) drains: &'a mut Vec<Drain>,
    pub(super) marks: &'a mut Vec<Mark>,
    pub(super) dice: Dice,
}

/// What must be known of a fault to measure what came after.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mark {
    /// The server that led the created shards is gone.
    LeaderKilled { at: Moment },
    /// It was told to leave.
    LeaderLeaves { from: Moment, to: Moment },
}

impl World<'_> {
    pub(super) async fn inflict(mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::KillLeader => self.kill_leader().await,
            Kind::StopLeader => self.stop_leader().await,
            Kind::RollServers => self.roll_servers().await,
            Kind::ServersAway => self.servers_away().await,
            Kind::KillExecutor => self.kill_executor().await,
            Kind::StopExecutor => self.stop_executor().await,
            Kind::RollExecutors => self.roll_executors().await,
            Kind::Drain => self.drain().await,
            Kind::KillEtcd => self.kill_etcd().await,
            Kind::StopEtcd => self.stop_etcd().await,
            Kind::FullEtcd => self.full_etcd().await,
            Kind::NoDiskEtcd => self.no_disk_etcd().await,
            Kind::FullDiskEtcd => self.full_disk_etcd().await,
            Kind::SlowDiskEtcd => self.slow_disk_etcd().await,
            Kind::StutterEtcd => self.stutter_etcd().await,
            Kind::CutEtcdEtcd => self.cut_etcd_etcd().await,
            Kind::EtcdAway => self.etcd_away().await,
            Kind::CutServerEtcd
            | Kind::DeafServerEtcd
            | Kind::CutExecutorServer
            | Kind::DeafExecutorServer
            | Kind::MuteExecutorServer
            | Kind::CutServerServer
            | Kind::DeafServerServer
            | Kind::RefuseServerServer
            | Kind::UnplugLeader
            | Kind::SlowLinks => self.disturb_links(kind).await,
        }
    }

    /// The server that leads one of the namespaces, the created ones' half the
    /// time; any, if none does.
    async fn victim(&mut self) -> usize {
        let all: Vec<_> = namespaces::all().collect();
        let other = all[self.dice.random_range(0..all.len())];
        let namespace = if self.dice.random() { CREATED } else { other };
        let otherwise = self.dice.random_range(0..SERVERS);
        let leader = self.scene.leader(namespace).await;
        let told = leader.map_or("nobody leads it".to_owned(), |n| format!("server-{n} leads it"));
        self.story.tell(&format!("  {namespace}: {told}"));
        leader.unwrap_or(otherwise)
    }
}
