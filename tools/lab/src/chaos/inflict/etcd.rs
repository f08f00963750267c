//! An etcd that loses members, room and speed.

use std::time::Duration;

use anyhow::Result;
use plimsoll_testkit::chaos::Moment;
use rand::RngExt;
use tokio::time::sleep;

use super::super::addresses::ETCD;
use super::super::fault::about;
use super::super::scene::QUOTA;
use super::World;

const AWAY: Duration = Duration::from_secs(3);
const TROUBLE: Duration = Duration::from_secs(5);
const ALL_AWAY: Duration = Duration::from_secs(20);
const STILL: Duration = Duration::from_millis(200);
const ALIVE: Duration = Duration::from_millis(100);

impl World<'_> {
    pub(super) fn member(&mut self) -> usize {
        self.dice.random_range(0..ETCD)
    }

    pub(super) async fn kill_etcd(&mut self) -> Result<()> {
        let victim = self.member();
        self.scene.kill_etcd(victim)?;
        self.story.tell(&format!("  kill -9 etcd-{}", victim + 1));
        sleep(about(AWAY, &mut self.dice)).await;
        self.back(victim).await
    }

    pub(super) async fn back(&mut self, member: usize) -> Result<()> {
        self.scene.start_etcd(member)?;
        self.scene.until_etcd_is_healthy().await?;
        self.story.tell(&format!("  etcd-{} is back", member + 1));
        Ok(())
    }

    pub(super) async fn stop_etcd(&mut self) -> Result<()> {
        let victim = self.member();
        self.scene.etcd[victim].process.pause()?;
        self.story.tell(&format!("  SIGSTOP etcd-{}", victim + 1));
        sleep(about(TROUBLE, &mut self.dice)).await;
        self.scene.etcd[victim].process.resume()?;
        self.scene.until_etcd_is_healthy().await
    }

    pub(super) async fn full_etcd(&mut self) -> Result<()> {
        self.scene.etcd[0].fill(QUOTA).await?;
        self.story.tell("  etcd is full: it takes no writes");
        sleep(about(TROUBLE, &mut self.dice)).await;
        self.scene.etcd[0].clear().await?;
        for member in &self.scene.etcd {
            member.defragment().await?;
        }
        self.scene.etcd[0].disarm().await?;
        self.story.tell("  etcd has room again");
        Ok(())
    }

    pub(super) async fn stutter_etcd(&mut self) -> Result<()> {
        let (begun, span) = (Moment::now(), about(TROUBLE, &mut self.dice));
        while begun.elapsed() < span {
            self.each_member(|process| process.pause())?;
            sleep(STILL).await;
            self.each_member(|process| process.resume())?;
            sleep(ALIVE).await;
        }
        self.scene.until_etcd_is_healthy().await
    }

    fn each_member(
        &mut self,
        order: impl FnMut(&mut plimsoll_testkit::chaos::Process) -> Result<()>,
    ) -> Result<()> {
        self.scene.etcd.iter_mut().map(|member| &mut member.process).try_for_each(order)
    }

    pub(super) async fn etcd_away(&mut self) -> Result<()> {
        for n in 0..ETCD {
            self.scene.kill_etcd(n)?;
        }
        self.story.tell("  kill -9 of all of etcd");
        sleep(ALL_AWAY).await;
        for n in 0..ETCD {
            self.scene.start_etcd(n)?;
        }
        self.scene.until_etcd_is_healthy().await?;
        self.story.tell("  all of etcd is back");
        Ok(())
    }
}
