//! Drains of shards and hosts, and the reset that ends them all.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{Outcome, RevokeReason, RouteChange};
use crate::event::{Event, What};
use crate::ids::{ExecutorId, ShardId};
use crate::journal::Consequence;
use crate::namespace::quarantine::CRASH_LOOP;
use crate::record::{DrainRecord, Kind, Write};
use crate::shard::{Next, Phase};

impl Namespace {
    pub(super) fn drain_shards(
        &mut self,
        keys: Vec<Arc<str>>,
        drain: &DrainRecord,
    ) -> Vec<Arc<str>> {
        let new = distinct(keys, |key| !self.drained_shards.contains_key(key));
        for key in &new {
            let (key, drain) = (key.clone(), drain.clone());
            self.journal.write(Write::DrainShard { shard: key.clone(), drain: drain.clone() });
            self.journal.then(Consequence::ShardDrained { key, drain });
        }
        new
    }

    pub(super) fn undrain_shards(&mut self, keys: Vec<Arc<str>>, why: &str) -> Vec<Arc<str>> {
        let drained = distinct(keys, |key| self.drained_shards.contains_key(key));
        for key in &drained {
            self.journal.write(Write::UndrainShard { shard: key.clone() });
            let (key, why) = (key.clone(), why.to_owned());
            self.journal.then(Consequence::ShardUndrained { key, why });
        }
        drained
    }

    pub(super) fn drain_hosts(&mut self, hosts: Vec<(Arc<str>, DrainRecord)>) -> Vec<Arc<str>> {
        let mut new = BTreeMap::new();
        for (host, drain) in hosts {
            if !self.drained_hosts.contains_key(&host) {
                // Of several records of one host the first counts.
                new.entry(host).or_insert(drain);
            }
        }
        for (host, drain) in &new {
            self.journal.write(Write::DrainHost { host: host.clone(), drain: drain.clone() });
            let (host, drain) = (host.clone(), drain.clone());
            self.journal.then(Consequence::HostDrained { host, drain });
        }
        new.into_keys().collect()
    }

    pub(super) fn undrain_hosts(&mut self, hosts: Vec<Arc<str>>, why: &str) -> Vec<Arc<str>> {
        let drained = distinct(hosts, |host| self.drained_hosts.contains_key(host));
        for host in &drained {
            self.journal.write(Write::UndrainHost { host: host.clone() });
            let (host, why) = (host.clone(), why.to_owned());
            self.journal.then(Consequence::HostUndrained { host, why });
        }
        drained
    }

    pub(super) fn shard_drained(&mut self, now: Time, key: &Arc<str>, drain: DrainRecord) {
        let detail = describe(&drain);
        let by_operator = drain.reason != CRASH_LOOP;
        self.drained_shards.insert(key.clone(), drain);
        self.route(RouteChange::Drained { shard: key.clone() });
        if by_operator {
            self.note_key(now, What::ShardDrained, key, detail);
        }
        if let Some(id) = self.shard_id(key) {
            self.stop_drained(now, id);
        }
    }

    fn stop_drained(&mut self, now: Time, id: ShardId) {
        let Some(shard) = self.shard_mut(id) else { return };
        shard.drained = true;
        match shard.phase {
            Phase::Owned { .. } => self.revoke(now, id, Next::Release, RevokeReason::ShardDrain),
            Phase::Revoking { .. } => self.redirect(id, Next::Release),
            Phase::Unowned => self.retire_unowned(now, id),
            // What follows from the grant or the release sees the drain.
            Phase::Granting | Phase::Releasing => {}
        }
        self.answer_waiters(id, &Outcome::Drained);
    }

    /// Ends a shard that nobody owns: its record, if there is one, goes too.
    fn retire_unowned(&mut self, now: Time, id: ShardId) {
        self.unowned.remove(&id);
        if self.shard(id).is_some_and(|shard| shard.generation > 0) {
            self.release(now, id);
        } else if self.kind == Kind::Ephemeral {
            self.remove_shard(id);
        }
    }

    pub(super) fn shard_undrained(&mut self, now: Time, key: &Arc<str>, why: String) {
        self.drained_shards.remove(key);
        self.route(RouteChange::Undrained { shard: key.clone() });
        self.note_key(now, What::ShardUndrained, key, why);
        let Some(id) = self.shard_id(key) else { return };
        let Some(shard) = self.shard_mut(id) else { return };
        shard.drained = false;
        self.suspects.remove(&id);
        match self.shard(id).map(|shard| shard.phase) {
            Some(Phase::Unowned) => {
                self.unowned.insert(id);
                self.forced_due = true;
            }
            // A fixed shard lives on; an ephemeral one is made by the next use.
            Some(Phase::Revoking { .. }) if self.kind != Kind::Ephemeral => {
                self.redirect(id, Next::Anyone);
            }
            Some(_) | None => {}
        }
    }

    pub(super) fn host_drained(&mut self, now: Time, host: &Arc<str>, drain: DrainRecord) {
        let detail = describe(&drain);
        self.drained_hosts.insert(host.clone(), drain);
        self.mark_host(now, host, true);
        self.note_host(now, What::HostDrained, host, detail);
    }

    pub(super) fn host_undrained(&mut self, now: Time, host: &Arc<str>, why: String) {
        self.drained_hosts.remove(host);
        self.mark_host(now, host, false);
        self.note_host(now, What::HostUndrained, host, why);
    }

    fn mark_host(&mut self, now: Time, host: &Arc<str>, drained: bool) {
        for (_, executor) in self.executors.iter_mut().filter(|(_, e)| e.host == *host) {
            executor.set_drained(now, drained);
        }
        self.forced_due = true;
    }

    /// The drains have been ended by their own records; now the grants.
    pub(super) fn reset(&mut self, now: Time) {
        let next = self.after_reset();
        self.reset_in_overlap = self.overlap_until.is_some();
        let all: Vec<_> = self.shards.iter().map(|(slot, _)| ShardId::of(slot)).collect();
        for id in all {
            match self.shard(id).map(|shard| shard.phase) {
                Some(Phase::Owned { .. }) => self.revoke(now, id, next, RevokeReason::Reset),
                Some(Phase::Revoking { .. }) => self.redirect(id, next),
                Some(Phase::Unowned) if next == Next::Release => self.forget_unowned(now, id),
                // Nobody knows of these yet, or any more.
                Some(Phase::Granting | Phase::Unowned | Phase::Releasing) | None => {}
            }
        }
        self.note(now, What::Reset, String::new());
    }

    /// What becomes of a shard once its owner has stopped it for a reset.
    pub(super) fn after_reset(&self) -> Next {
        match self.kind {
            Kind::Ephemeral => Next::Release,
            Kind::Fixed { .. } => Next::Anyone,
        }
    }

    /// An ephemeral shard whose owner died, unless somebody asks for it.
    fn forget_unowned(&mut self, now: Time, id: ShardId) {
        if !self.waiters.contains_key(&id) {
            self.retire_unowned(now, id);
        }
    }

    /// Shards that a drained host's executors still hold.
    pub(super) fn executors_on<'a>(
        &'a self,
        host: &'a str,
    ) -> impl Iterator<Item = ExecutorId> + 'a {
        let all = self.executors.iter();
        all.filter(move |(_, e)| &*e.host == host).map(|(slot, _)| ExecutorId::of(slot))
    }

    fn note_key(&mut self, at: Time, what: What, key: &Arc<str>, detail: String) {
        let shard = Some(key.clone());
        self.record(Event {
            at,
            what,
            shard,
            executor: None,
            generation: 0,
            detail: detail.into(),
        });
    }

    fn note_host(&mut self, at: Time, what: What, host: &Arc<str>, detail: String) {
        let executor = Some(host.clone());
        self.record(Event {
            at,
            what,
            shard: None,
            executor,
            generation: 0,
            detail: detail.into(),
        });
    }
}

fn describe(drain: &DrainRecord) -> String {
    match (drain.drained_by.as_str(), drain.reason.as_str()) {
        ("", "") => String::new(),
        ("", reason) => reason.to_owned(),
        (by, "") => format!("by {by}"),
        (by, reason) => format!("by {by}: {reason}"),
    }
}

/// The names that are wanted, each once, in the order given.
fn distinct(names: Vec<Arc<str>>, wanted: impl Fn(&Arc<str>) -> bool) -> Vec<Arc<str>> {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().filter(|name| wanted(name) && seen.insert(name.clone())).collect()
}
