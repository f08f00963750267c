//! Shards that kill their owners.
//!
//! A shard is suspected when its owner dies soon after getting it. After deaths
//! on several different hosts the shard, and not the hosts, is to blame: it is
//! drained, with the reason `crash-loop`, instead of killing the next host.
//!
//! Shards that sat beside the guilty one are suspected with it, but a dead
//! host's shards scatter over many hosts, so that the next deaths do not meet
//! the same company again. The heuristic errs to the safe side in one case
//! only: hosts dying by themselves, one after the other, each within the window.
//! A silence of many at once is a mass failure and raises no suspicion.

use std::time::Duration;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::event::What;
use crate::ids::{ExecutorId, ShardId};
use crate::journal::Consequence;
use crate::record::{DrainRecord, Write};
use crate::shard::Phase;

/// Marks a drain that the server ordered itself.
pub const CRASH_LOOP: &str = "crash-loop";

impl Namespace {
    /// An executor died: which of its shards had it only just got?
    pub(super) fn suspect_shards_of(&mut self, now: Time, id: ExecutorId) {
        let Some(executor) = self.executor(id) else { return };
        if !self.settings.crash_loop_enabled || executor.held_until.is_some() {
            return;
        }
        let (host, died_at) = (executor.host.clone(), executor.last_heard);
        let shards = executor.shards.clone();
        for shard in shards {
            if self.is_recent(shard, died_at) {
                self.suspect(now, shard, &host);
            } else {
                self.suspects.remove(&shard);
            }
        }
    }

    fn is_recent(&self, id: ShardId, died_at: Time) -> bool {
        let Some(shard) = self.shard(id) else { return false };
        // An owner that did not know of the shard did not die of it.
        let knew = shard.phase == Phase::Owned { told: true };
        knew && died_at - shard.since < self.settings.crash_loop_window
    }

    /// An owner that lives has had the shard for so long: it does not kill.
    pub(super) fn acquit(&mut self, id: ShardId, served: Duration) {
        if !self.suspects.is_empty() && served >= self.settings.crash_loop_window {
            self.suspects.remove(&id);
        }
    }

    fn suspect(&mut self, now: Time, id: ShardId, host: &std::sync::Arc<str>) {
        let hosts = self.suspects.entry(id).or_default();
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
        if hosts.len() >= self.settings.crash_loop_deaths as usize {
            self.quarantine(now, id);
        }
    }

    fn quarantine(&mut self, now: Time, id: ShardId) {
        let hosts = self.suspects.remove(&id).unwrap_or_default();
        let Some(shard) = self.shard_mut(id) else { return };
        // From this moment on, not from when the drain is stored: nobody may
        // get it in between.
        shard.drained = true;
        let key = shard.key.clone();
        let drain = DrainRecord {
            drained_at_ms: self.wall_ms(now),
            drained_by: "plimsoll".to_owned(),
            reason: CRASH_LOOP.to_owned(),
        };
        let detail = format!("its owners died within the window on {}", hosts.join(", "));
        self.note_shard(now, What::Quarantined, id, detail);
        self.journal.write(Write::DrainShard { shard: key.clone(), drain: drain.clone() });
        self.journal.then(Consequence::ShardDrained { key, drain });
    }
}
