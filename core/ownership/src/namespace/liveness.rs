//! Who is alive: leases, goodbyes, and the two cases in which silence proves
//! nothing: many fell silent together, or the server itself stood still.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{Farewell, Tell};
use crate::event::{Event, What};
use crate::executor::Executor;
use crate::ids::{ExecutorId, ShardId};
use crate::shard::{Next, Phase};

/// A timer this late means that the server did not run.
const STALL: Duration = Duration::from_millis(250);

/// How an executor went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Goodbye {
    /// It stopped everything and said so.
    Said,
    /// Its lease ran out.
    Expired,
}

impl Namespace {
    /// If the server did not run, heartbeats could not be heard: everybody gets
    /// that time back.
    pub(super) fn forgive_own_stall(&mut self, now: Time) {
        let late = now - self.next_deadline();
        if late < STALL {
            return;
        }
        for (_, executor) in &mut self.executors {
            executor.last_heard = (executor.last_heard + late).min(now);
            executor.held_until = executor.held_until.map(|until| until + late);
            executor.away_until = executor.away_until.map(|until| until + late);
        }
        self.recovering_until = self.recovering_until.map(|until| until + late);
        self.note(now, What::Stalled, format!("the server stood still for {late:.1?}"));
    }

    /// Buries every executor whose lease has run out, unless too many fell
    /// silent together.
    pub(super) fn bury_the_silent(&mut self, now: Time) {
        if now < self.next_expiry {
            return;
        }
        if self.expired(now).next().is_some() && self.is_mass_failure(now) {
            self.hold_the_silent(now);
        }
        let dead: Vec<_> = self.expired(now).collect();
        for id in dead {
            self.end_life(now, id);
        }
        self.next_expiry = self.earliest_expiry();
    }

    fn end_life(&mut self, now: Time, id: ExecutorId) {
        if self.is_away(id) {
            let detail = "it did not come back within restart_grace".to_owned();
            self.note_executor(now, What::Expired, id, detail);
        } else {
            self.note_executor(now, What::Expired, id, String::new());
            self.suspect_shards_of(now, id);
        }
        self.bury(now, id, Goodbye::Expired);
    }

    fn expired(&self, now: Time) -> impl Iterator<Item = ExecutorId> {
        let all = self.executors.iter();
        all.filter(move |(_, executor)| now >= executor.expires_at(&self.settings))
            .map(|(slot, _)| ExecutorId::of(slot))
    }

    pub(super) fn earliest_expiry(&self) -> Time {
        let ends = self.executors.iter().map(|(_, executor)| executor.expires_at(&self.settings));
        ends.min().unwrap_or(Time::MAX)
    }

    /// More than the given part of the executors, and more than one, have been
    /// silent for half their lease. Those held already had their time.
    fn is_mass_failure(&self, now: Time) -> bool {
        if !self.settings.mass_failure_enabled {
            return false;
        }
        let silent = self.silent(now).count();
        let all = self.executors.iter().filter(|(_, executor)| executor.is_expected_to_beat());
        let all = all.count();
        let most = self.settings.mass_failure_proportion * all as f64;
        silent > 1 && silent as f64 > most && self.silent(now).any(|e| e.held_until.is_none())
    }

    fn silent(&self, now: Time) -> impl Iterator<Item = &Executor> {
        let settings = &self.settings;
        let all = self.executors.iter().map(|(_, executor)| executor);
        all.filter(move |executor| {
            executor.is_expected_to_beat()
                && now - executor.last_heard >= executor.lease(settings) / 2
        })
    }

    fn hold_the_silent(&mut self, now: Time) {
        let (settings, mut held) = (&self.settings, 0);
        for (_, executor) in &mut self.executors {
            let lease = executor.lease(settings);
            let silent = executor.is_expected_to_beat() && now - executor.last_heard >= lease / 2;
            if silent && executor.held_until.is_none() {
                executor.held_until = Some(now + lease);
                self.mass_failure_until = self.mass_failure_until.max(executor.held_until);
                held += 1;
            }
        }
        let all = self.executors.len();
        let text = format!(
            "{held} of {all} executors fell silent together: nothing is moved for one lease"
        );
        self.note(now, What::MassFailure, text);
    }

    /// Takes everything from an executor that runs nothing any more, and
    /// forgets it.
    pub(super) fn bury(&mut self, now: Time, id: ExecutorId, how: Goodbye) {
        let farewell = match how {
            Goodbye::Said => Farewell::Goodbye,
            Goodbye::Expired => Farewell::Expired,
        };
        self.tell(id, Tell::Farewell(farewell));
        self.drop_preparations_at(id);
        for shard in self.shards_of(id).to_vec() {
            self.bereave(now, shard);
        }
        self.remove_executor(id);
        self.forced_due = true;
    }

    /// The owner of this shard runs nothing any more.
    pub(super) fn bereave(&mut self, now: Time, id: ShardId) {
        match self.shard(id).map(|shard| shard.phase) {
            // The grant is on its way to the store: what follows finds no owner.
            Some(Phase::Granting) => self.detach(id),
            Some(Phase::Revoking { next: Next::Release, .. }) => self.release(now, id),
            Some(Phase::Owned { .. } | Phase::Revoking { .. }) => self.orphan(now, id),
            Some(Phase::Unowned | Phase::Releasing) | None => {}
        }
    }

    /// The executor wants no more work.
    pub(super) fn set_leaving(&mut self, now: Time, id: ExecutorId, leaving: bool) {
        let Some(executor) = self.executor_mut(id) else { return };
        if executor.leaving == leaving {
            return;
        }
        executor.leaving = leaving;
        self.forced_due = true;
        if leaving {
            self.note_executor(now, What::Leaving, id, String::new());
        }
    }

    pub(super) fn note(&mut self, at: Time, what: What, detail: String) {
        let (shard, executor): (Option<Arc<str>>, Option<Arc<str>>) = (None, None);
        self.record(Event { at, what, shard, executor, generation: 0, detail: detail.into() });
    }
}
