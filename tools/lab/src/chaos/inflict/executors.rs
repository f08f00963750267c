//! Executors that die, stand still and are replaced; and operators' orders.

use std::time::Duration;

use anyhow::Result;
use plimsoll_testkit::chaos::Moment;
use rand::RngExt;
use tokio::time::sleep;

use super::super::addresses::EXECUTORS;
use super::super::fault::{about, past_a_lease};
use super::super::namespaces::FIXED;
use super::super::oracle::{Drain, Drained};
use super::super::scene::executor_name;
use super::World;

const AWAY: Duration = Duration::from_secs(3);
const LEAVES_WITHIN: Duration = Duration::from_secs(40);

impl World<'_> {
    pub(super) async fn kill_executor(&mut self) -> Result<()> {
        let victim = self.dice.random_range(0..EXECUTORS);
        let at = self.scene.executors[victim].kill()?;
        self.story.tell_of(at, &format!("  kill -9 {}", executor_name(victim)));
        sleep(about(AWAY, &mut self.dice)).await;
        self.scene.executors[victim].start()?;
        self.story.tell(&format!("  {} is back", executor_name(victim)));
        Ok(())
    }

    pub(super) async fn stop_executor(&mut self) -> Result<()> {
        let victim = self.dice.random_range(0..EXECUTORS);
        self.scene.executors[victim].pause()?;
        self.story.tell(&format!("  SIGSTOP {}", executor_name(victim)));
        sleep(past_a_lease(&mut self.dice)).await;
        self.scene.executors[victim].resume()?;
        self.story.tell(&format!("  SIGCONT {}", executor_name(victim)));
        Ok(())
    }

    pub(super) async fn roll_executors(&mut self) -> Result<()> {
        for n in 0..EXECUTORS {
            self.scene.executors[n].terminate()?;
            self.scene.executors[n].ended(LEAVES_WITHIN).await?;
            self.scene.executors[n].start()?;
        }
        self.story.tell("  every executor was replaced");
        Ok(())
    }

    pub(super) async fn drain(&mut self) -> Result<()> {
        let (namespace, count) = FIXED[self.dice.random_range(0..FIXED.len())];
        let shard = self.dice.random_range(0..count).to_string();
        let host = executor_name(self.dice.random_range(0..EXECUTORS));
        self.operator.drain_shard(namespace, &shard).await?;
        self.in_force(Drained::Shard(format!("{namespace}/{shard}")));
        self.operator.drain_host(namespace, &host).await?;
        self.in_force(Drained::Host { namespace: namespace.to_owned(), host });
        Ok(())
    }

    fn in_force(&mut self, of: Drained) {
        self.story.tell(&format!("  drained: {of:?}"));
        self.drains.push(Drain { of, from: Moment::now(), to: None });
    }
}
