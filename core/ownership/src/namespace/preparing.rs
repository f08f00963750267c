//! Planned moves that warm up first: the next owner makes ready while the present
//! one serves on, and only then is the present one told to stop.
//!
//! A shard that is being made ready elsewhere stays owned: whatever happens to
//! owned shards happens to it, and ends the preparation. It is no promise either:
//! the move goes on without it when it takes too long.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_placement::plan::MoveReason;
use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::{RevokeReason, Tell};
use crate::event::What;
use crate::executor::Link;
use crate::ids::{ExecutorId, ShardId};
use crate::message::Preparation;
use crate::shard::{Next, Phase};

/// The shards that are being made ready where they go.
#[derive(Debug, Default)]
pub(super) struct Preparations {
    all: BTreeMap<ShardId, Preparing>,
    /// The same by when they are overdue.
    due: BTreeSet<(Time, ShardId)>,
    /// Why shards did not move, where the last answer was that they cannot be
    /// made ready.
    refused: BTreeMap<ShardId, String>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preparing {
    pub(super) to: ExecutorId,
    pub(super) reason: MoveReason,
    pub(super) began: Time,
    pub(super) until: Time,
    /// Another executor could not make it ready.
    second_try: bool,
}

impl Preparations {
    pub(super) fn get(&self, id: ShardId) -> Option<&Preparing> {
        self.all.get(&id)
    }

    /// When the first is overdue.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.due.first().map(|(until, _)| *until)
    }

    pub(super) fn why_refused(&self, id: ShardId) -> Option<&str> {
        self.refused.get(&id).map(String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ShardId, &Preparing)> {
        self.all.iter().map(|(id, it)| (*id, it))
    }

    /// Shards whose next owner fits.
    fn where_to(&self, fits: impl Fn(ExecutorId) -> bool) -> Vec<ShardId> {
        self.iter().filter(|(_, it)| fits(it.to)).map(|(id, _)| id).collect()
    }

    fn begin(&mut self, id: ShardId, it: Preparing) {
        self.refused.remove(&id);
        self.due.insert((it.until, id));
        self.all.insert(id, it);
    }

    fn take(&mut self, id: ShardId) -> Option<Preparing> {
        let it = self.all.remove(&id)?;
        self.due.remove(&(it.until, id));
        Some(it)
    }
}

// === impl Namespace: beginnings ===

impl Namespace {
    /// Moves a shard that somebody runs; its next owner makes ready first if it
    /// can.
    pub(super) fn move_to(&mut self, now: Time, id: ShardId, to: ExecutorId, reason: MoveReason) {
        self.move_at_try(now, id, to, reason, false);
    }

    fn move_at_try(
        &mut self,
        now: Time,
        id: ShardId,
        to: ExecutorId,
        reason: MoveReason,
        second_try: bool,
    ) {
        if !self.can_prepare(id, to) {
            return self.revoke(now, id, Next::To(to, reason), RevokeReason::Move(reason));
        }
        let until = now + self.settings.prepare_timeout;
        let it = Preparing { to, reason, began: now, until, second_try };
        self.begin_preparing(id, it);
        let detail = format!("at {}: {}", self.name_of(Some(to)), reason.as_str());
        self.note_shard(now, What::Preparing, id, detail);
        if let Some(preparation) = self.preparation(id) {
            self.tell(to, Tell::Prepare(preparation));
        }
    }

    /// Takes up a preparation that a server before this one began.
    pub(super) fn resume_preparing(
        &mut self,
        now: Time,
        id: ShardId,
        to: ExecutorId,
        reason: MoveReason,
        until: Time,
    ) {
        self.begin_preparing(id, Preparing { to, reason, began: now, until, second_try: false });
    }

    fn begin_preparing(&mut self, id: ShardId, it: Preparing) {
        self.preparations.begin(id, it);
    }

    /// Whether waiting is worth it: somebody serves the shard who can be told to
    /// stop, and its next owner can be told to make ready.
    fn can_prepare(&self, id: ShardId, to: ExecutorId) -> bool {
        let Some(shard) = self.shard(id) else { return false };
        let owner = shard.owner.and_then(|owner| self.executor(owner));
        let hears = owner.is_some_and(|owner| {
            matches!(owner.link, Link::Session(Some(_)) | Link::Unary) && owner.away_until.is_none()
        });
        let answers = self.executor(to).is_some_and(|to| to.prepares && to.session().is_some());
        let told = shard.phase == Phase::Owned { told: true };
        told && hears && answers && !self.settings.prepare_timeout.is_zero()
    }

    fn preparation(&self, id: ShardId) -> Option<Preparation> {
        let shard = self.shard(id)?;
        Some(Preparation { shard: shard.key.clone(), generation: shard.generation })
    }

    /// All that an executor is to make ready.
    pub(super) fn preparations_at(&self, at: ExecutorId) -> Vec<Preparation> {
        let here = self.preparations.iter().filter(|(_, it)| it.to == at);
        here.filter_map(|(id, _)| self.preparation(id)).collect()
    }
}

// === impl Namespace: ends ===

impl Namespace {
    /// An executor has made a shard ready, or cannot.
    pub(super) fn prepared(
        &mut self,
        now: Time,
        by: ExecutorId,
        key: &str,
        generation: u64,
        error: Option<String>,
    ) {
        let Some(id) = self.shard_id(key) else { return };
        let same = self.shard(id).is_some_and(|shard| shard.generation == generation);
        if !same || self.preparations.get(id).is_none_or(|it| it.to != by) {
            return;
        }
        let Some(it) = self.take_preparation(id) else { return };
        match error {
            None => self.move_prepared(now, id, &it),
            Some(error) => self.refused(now, id, &it, &error),
        }
    }

    fn move_prepared(&mut self, now: Time, id: ShardId, it: &Preparing) {
        if self.is_open(it.to) {
            let (next, reason) = (Next::To(it.to, it.reason), RevokeReason::Move(it.reason));
            self.revoke(now, id, next, reason);
        } else {
            self.forced_due = true;
        }
    }

    /// A move for balance is given up for a while; one that must be goes to
    /// another executor, and, if that cannot make ready either, goes cold.
    fn refused(&mut self, now: Time, id: ShardId, it: &Preparing, error: &str) {
        let why = format!("{} could not prepare it: {error}", self.name_of(Some(it.to)));
        self.note_shard(now, What::PrepareFailed, id, why.clone());
        if !is_forced(it.reason) {
            self.preparations.refused.insert(id, why);
            if let Some(shard) = self.shard_mut(id) {
                shard.moved(now);
            }
            return self.forced_due = true;
        }
        match self.place_beside(id, it.to).filter(|_| !it.second_try) {
            Some(other) => self.move_at_try(now, id, other, it.reason, true),
            None => self.move_prepared(now, id, it),
        }
    }

    /// Where else a shard could go.
    fn place_beside(&self, id: ShardId, not: ExecutorId) -> Option<ExecutorId> {
        let mut chooser = self.chooser_among(|candidate| candidate != not);
        self.ask(&mut chooser, id)
    }

    /// Those that take too long move without.
    pub(super) fn end_overdue_preparations(&mut self, now: Time) {
        while let Some((_, id)) = self.preparations.due.first().copied().filter(|it| it.0 <= now) {
            let Some(it) = self.take_preparation(id) else { return };
            let waited = now - it.began;
            let to = self.name_of(Some(it.to));
            let why = format!("{to} did not answer for {waited:.1?}: it moves without");
            self.note_shard(now, What::PrepareFailed, id, why);
            self.move_prepared(now, id, &it);
        }
    }

    /// The shard is not to move where it is being made ready, if it is anywhere.
    pub(super) fn end_preparing(&mut self, id: ShardId) {
        self.preparations.refused.remove(&id);
        let Some(it) = self.take_preparation(id) else { return };
        if let Some(preparation) = self.preparation(id) {
            self.tell(it.to, Tell::Abandon(preparation));
        }
    }

    /// Every end of a preparation comes through here.
    fn take_preparation(&mut self, id: ShardId) -> Option<Preparing> {
        self.preparations.take(id)
    }

    /// This executor takes nothing any more.
    pub(super) fn drop_preparations_at(&mut self, at: ExecutorId) {
        self.end_preparations(|_, to| to == at);
    }

    /// What is to be emptied gets nothing: such shards are placed anew.
    pub(super) fn drop_hopeless_preparations(&mut self) {
        self.end_preparations(|namespace, to| {
            namespace.executor(to).is_none_or(|to| to.candidacy().must_empty())
        });
    }

    fn end_preparations(&mut self, hopeless: impl Fn(&Self, ExecutorId) -> bool) {
        for id in self.preparations.where_to(|to| hopeless(self, to)) {
            self.end_preparing(id);
            self.forced_due = true;
        }
    }

    /// Balance is frozen: what is not under way yet stays where it is.
    pub(super) fn drop_preparations_for_balance(&mut self) {
        let of_balance = self.preparations.iter().filter(|(_, it)| !is_forced(it.reason));
        for id in of_balance.map(|(id, _)| id).collect::<Vec<_>>() {
            self.end_preparing(id);
        }
    }
}

/// It must move, balance or not.
fn is_forced(reason: MoveReason) -> bool {
    matches!(reason, MoveReason::Unowned | MoveReason::HostDrained | MoveReason::ExecutorLeaving)
}
