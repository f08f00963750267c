//! Servers that die, stand still and leave.

use std::time::Duration;

use anyhow::Result;
use plimsoll_testkit::chaos::Moment;
use tokio::time::sleep;

use super::super::addresses::{End, SERVERS};
use super::super::fault::{about, past_a_lease};
use super::super::namespaces::CREATED;
use super::{Mark, World};

const AWAY: Duration = Duration::from_secs(3);
const LEAVES_WITHIN: Duration = Duration::from_secs(20);

impl World<'_> {
    pub(super) async fn kill_leader(&mut self) -> Result<()> {
        let victim = self.victim().await;
        let leads_created = self.scene.leader(CREATED).await == Some(victim);
        let at = self.scene.kill_server(victim)?;
        self.story.tell_of(at, &format!("  kill -9 server-{victim}"));
        if leads_created {
            self.marks.push(Mark::LeaderKilled { at });
        }
        sleep(about(AWAY, &mut self.dice)).await;
        self.start_server(victim).await
    }

    async fn start_server(&mut self, n: usize) -> Result<()> {
        self.scene.start_server(n)?;
        self.scene.until_ready(n).await?;
        self.story.tell(&format!("  server-{n} is back"));
        Ok(())
    }

    pub(super) async fn stop_leader(&mut self) -> Result<()> {
        let victim = self.victim().await;
        self.scene.servers[victim].pause()?;
        self.story.tell(&format!("  SIGSTOP server-{victim}"));
        sleep(past_a_lease(&mut self.dice)).await;
        self.scene.servers[victim].resume()?;
        self.story.tell(&format!("  SIGCONT server-{victim}"));
        self.scene.until_ready(victim).await
    }

    pub(super) async fn roll_servers(&mut self) -> Result<()> {
        for n in 0..SERVERS {
            let leads_created = self.scene.leader(CREATED).await == Some(n);
            let from = Moment::now();
            self.story.tell(&format!("  SIGTERM server-{n}"));
            self.scene.servers[n].terminate()?;
            let status = self.scene.servers[n].ended(LEAVES_WITHIN).await?;
            let to = Moment::now();
            self.scene.links.refuse(End::Server(n), true)?;
            self.story.tell_of(to, &format!("  server-{n} has left: {status}"));
            if leads_created {
                self.marks.push(Mark::LeaderLeaves { from, to });
            }
            self.start_server(n).await?;
        }
        Ok(())
    }

    pub(super) async fn servers_away(&mut self) -> Result<()> {
        for n in 0..SERVERS {
            self.scene.kill_server(n)?;
        }
        self.story.tell("  kill -9 of all servers");
        sleep(past_a_lease(&mut self.dice)).await;
        for n in 0..SERVERS {
            self.scene.start_server(n)?;
        }
        for n in 0..SERVERS {
            self.scene.until_ready(n).await?;
        }
        self.story.tell("  all servers are back");
        Ok(())
    }
}
