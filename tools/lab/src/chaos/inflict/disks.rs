//! Disks of etcd that take no more, or take their time.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_testkit::chaos::{Disk, Moment};
use rand::RngExt;
use tokio::time::sleep;

use super::super::addresses::End;
use super::super::fault::about;
use super::World;

const AWAY: Duration = Duration::from_secs(3);
const TROUBLE: Duration = Duration::from_secs(5);
/// A member has to notice by a write.
const NOTICES_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What a file must take before it needs a new block of the disk, in orders of junk.
const JUNK: usize = 16;
/// What a member says of a disk that is full.
const FULL: &str = "no space left on device";
/// A write to a slow disk takes at least so long in the mean, or it was none.
const SLOW: f64 = 0.02;

impl World<'_> {
    pub(super) async fn no_disk_etcd(&mut self) -> Result<()> {
        let victim = self.member();
        // Whatever it writes is beyond the first byte of its file.
        self.scene.etcd[victim].process.limit_files(1)?;
        self.until_it_ends(victim).await?;
        self.story.tell(&format!("  {} could write no more and ended", End::Etcd(victim)));
        self.scene.kill_etcd(victim)?;
        sleep(about(AWAY, &mut self.dice)).await;
        self.back(victim).await
    }

    pub(super) async fn full_disk_etcd(&mut self) -> Result<()> {
        let victim = self.member();
        let before = self.said(victim)?.matches(FULL).count();
        self.disk(victim)?.fill()?;
        self.write_until_it_ends(victim).await?;
        ensure!(self.said(victim)?.matches(FULL).count() > before, "it ended for another reason");
        self.story.tell(&format!("  {} found its disk full and ended", End::Etcd(victim)));
        self.scene.kill_etcd(victim)?;
        sleep(about(AWAY, &mut self.dice)).await;
        self.disk(victim)?.make_room()?;
        self.back(victim).await?;
        self.scene.etcd[victim].clear().await?;
        for member in &self.scene.etcd {
            member.defragment().await?;
        }
        Ok(())
    }

    pub(super) async fn slow_disk_etcd(&mut self) -> Result<()> {
        let writes = self.dice.random_range(4..=16);
        let before = self.synced().await?;
        self.each_disk(|disk| disk.slow(Some(writes)))?;
        self.story.tell(&format!("  disks of etcd take {writes} writes a second"));
        sleep(about(TROUBLE, &mut self.dice)).await;
        self.each_disk(|disk| disk.slow(None))?;
        self.scene.until_etcd_is_healthy().await?;
        let after = self.synced().await?;
        let (took, count) = (after.0 - before.0, after.1 - before.1);
        ensure!(count > 0.0 && took / count > SLOW, "{count} writes took {took} s: not slow");
        let mean = 1000.0 * took / count;
        self.story.tell(&format!(
            "  disks of etcd are fast again; {count} writes took {mean:.0} ms each"
        ));
        Ok(())
    }

    /// By every member: how long writes to its log took that must be durable, in
    /// seconds, and how many there were.
    async fn synced(&self) -> Result<(f64, f64)> {
        let mut all = (0.0, 0.0);
        for member in &self.scene.etcd {
            all.0 += member.figure("etcd_disk_wal_fsync_duration_seconds_sum").await?;
            all.1 += member.figure("etcd_disk_wal_fsync_duration_seconds_count").await?;
        }
        Ok(all)
    }

    fn disk(&self, member: usize) -> Result<&Disk> {
        self.scene.disks.get(member).context("etcd has no disks of its own")
    }

    fn each_disk(&self, order: impl Fn(&Disk) -> Result<()>) -> Result<()> {
        self.scene.disks.iter().try_for_each(order)
    }

    fn said(&self, member: usize) -> Result<String> {
        let output = std::fs::read(self.scene.etcd[member].process.output())?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Its log has room that was set aside: what it knows must grow beyond what its
    /// file has.
    async fn write_until_it_ends(&mut self, victim: usize) -> Result<()> {
        let other = (victim + 1) % self.scene.etcd.len();
        for _ in 0..JUNK {
            if self.scene.etcd[victim].process.is_running() {
                self.scene.etcd[other].put_junk().await?;
            }
        }
        self.until_it_ends(victim).await
    }

    async fn until_it_ends(&mut self, victim: usize) -> Result<()> {
        let begun = Moment::now();
        while self.scene.etcd[victim].process.is_running() {
            ensure!(begun.elapsed() < NOTICES_WITHIN, "etcd writes nothing: it did not notice");
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}
