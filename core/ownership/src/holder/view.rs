//! What a holder can be asked: what to do next, when, and what runs.

use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::held::Phase;
use super::link::Link;
use super::{Action, Holder};

impl Holder {
    /// What to do next, in order; `None` when everything was told.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call `handle_timeout`, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Time> {
        let beat = match &self.link {
            Link::Up(beats) => Some(beats.next()),
            _ => None,
        };
        let silence = beat.and(self.lease.gives_up());
        let answer = self.link.overdue(self.patience());
        [beat, silence, answer, self.lease.ends()].into_iter().flatten().min()
    }

    /// The generation that the shard runs under at this instant; `None` when it
    /// does not run, or when the lease is over although nobody was told yet. This
    /// is the check that fences every use of the shard.
    pub fn may_run(&self, now: Time, shard: &str) -> Option<u64> {
        let held = self.shards.get(shard).filter(|held| held.is_running())?;
        self.lease.holds(now).then_some(held.generation)
    }

    /// Every shard that starts, runs or stops here, in order of key.
    pub fn shards(&self) -> impl Iterator<Item = Shard<'_>> {
        self.shards.iter().map(|(shard, held)| Shard {
            shard,
            generation: held.generation,
            phase: (&held.phase).into(),
        })
    }

    /// How many shards start, run or stop here.
    pub fn len(&self) -> usize {
        self.shards.len()
    }

    /// Whether no shard starts, runs or stops here.
    pub fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    /// Whether the server has welcomed the present stream.
    pub fn is_welcome(&self) -> bool {
        matches!(self.link, Link::Up(_))
    }

    /// When the lease ends unless a server is heard; `None` if it is over. From
    /// then on nothing may run, but where the namespace says that it may.
    pub fn lease_end(&self) -> Option<Time> {
        self.lease.ends()
    }
}

/// A shard as [`Holder::shards`] shows it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shard<'a> {
    pub shard: &'a Arc<str>,
    pub generation: u64,
    pub phase: ShardPhase,
}

/// Where a shard is in its life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ShardPhase {
    Starting,
    Running,
    Stopping,
}

impl From<&Phase> for ShardPhase {
    fn from(phase: &Phase) -> Self {
        match phase {
            Phase::Starting => Self::Starting,
            Phase::Running => Self::Running,
            Phase::Stopping(_) => Self::Stopping,
        }
    }
}
