//! Where one request goes next: to the owner that the map names, to the one that a
//! former owner named, to the seats of those who are held, or back to its caller.
//!
//! Passive: it is told what happened and the time, and says what to do. It sends
//! nothing and reads no clock; chance is an argument.
//!
//! 1. An owner that refused is asked again only by a scout, and only after a pause,
//!    until the map names another grant.
//! 2. "It moved there" is followed once for each grant that the map names.
//! 3. After the deadline nothing is sent any more.
//! 4. A scout that may not ask a server now waits longer each time, by chance.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use super::holds::Role;
use crate::moved::NextOwner;

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// 2 ms doubled this often is past the longest.
const DOUBLINGS: u32 = 6;
/// From this pause on a server is asked, too: the map may be out of date.
const ASK_FROM: u32 = 4;
/// Scouts that may not ask yet come again within this time of when one may, or
/// later the more often it was in vain.
const FIRST_SPREAD: Duration = Duration::from_millis(200);
const LONGEST_SPREAD: Duration = Duration::from_secs(2);

/// A grant, as the map names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Grant {
    pub(super) executor: Arc<str>,
    pub(super) generation: u64,
}

/// What there is to see when it is to be decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) now: Time,
    /// What the map names.
    pub(super) grant: Option<&'a Grant>,
    /// The seat among those held; `None` without one.
    pub(super) role: Option<Role>,
    /// Whether others are held for the same shard.
    pub(super) crowd: bool,
}

/// What to do next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// Send it to the owner that the map names.
    Send,
    /// Send it to the one that the former owner named.
    Follow(NextOwner),
    /// Ask a server who owns the shard.
    Ask,
    /// Take a seat among those who are held.
    Sit,
    /// Wait for a word, until then.
    Wait(Time),
    GiveUp,
}

#[derive(Debug)]
pub(super) struct Journey {
    began: Time,
    deadline: Time,
    tries: u32,
    /// The grant that the map named when it was last refused.
    refused: Option<Grant>,
    /// Where to go at once.
    follow: Option<NextOwner>,
    /// That was done for the grant that was refused.
    followed: bool,
    pauses: u32,
    /// When a scout may try again.
    due: Time,
    /// A server was asked since the last pause, or could not be.
    asked: bool,
    /// How often in a row a server could not be asked.
    put_off: u32,
}

impl Journey {
    pub(super) fn new(now: Time, within: Duration) -> Self {
        Self {
            began: now,
            deadline: now + within,
            tries: 0,
            refused: None,
            follow: None,
            followed: false,
            pauses: 0,
            due: now,
            asked: false,
            put_off: 0,
        }
    }

    /// How often it was sent.
    pub(super) fn tries(&self) -> u32 {
        self.tries
    }

    pub(super) fn took(&self, now: Time) -> Duration {
        now - self.began
    }

    /// What to do in the light of this.
    pub(super) fn next(&mut self, view: View<'_>) -> Step {
        if view.now >= self.deadline {
            return Step::GiveUp;
        }
        if let Some(next) = self.follow.take() {
            self.followed = true;
            return Step::Follow(next);
        }
        let is_news = view.grant.is_some() && view.grant != self.refused.as_ref();
        match view.role {
            None if is_news && !view.crowd => Step::Send,
            None => Step::Sit,
            Some(Role::Scout) if is_news => Step::Send,
            Some(Role::Scout) if view.now >= self.due => self.scout(view.grant),
            Some(Role::Scout) => Step::Wait(self.due.min(self.deadline)),
            Some(Role::Waiter) => Step::Wait(self.deadline),
        }
    }

    fn scout(&self, grant: Option<&Grant>) -> Step {
        let doubtful = self.pauses >= ASK_FROM && !self.asked;
        if grant.is_none() || doubtful { Step::Ask } else { Step::Send }
    }

    /// It was sent, and whoever got it does not run the shard, or nobody got it.
    /// `chance` is between 0 and 1.
    pub(super) fn refused(
        &mut self,
        now: Time,
        grant: Option<Grant>,
        moved_to: Option<NextOwner>,
        chance: f64,
    ) {
        self.tries += 1;
        self.put_off = 0;
        if grant != self.refused {
            self.followed = false;
        }
        self.follow = moved_to.filter(|_| !self.followed);
        self.refused = grant;
        self.pause(now, chance);
    }

    /// A server was asked, and the map has its answer if there was one. `known`:
    /// the map names an owner; without an answer it is that one that is tried.
    pub(super) fn asked(&mut self, now: Time, known: bool, chance: f64) {
        self.put_off = 0;
        if known {
            self.asked = true;
        } else {
            self.pause(now, chance);
        }
    }

    /// A server may not be asked before `until`: the owner that the map names is
    /// tried instead, if it is `known`.
    pub(super) fn put_off(&mut self, until: Time, known: bool, chance: f64) {
        if known {
            self.asked = true;
            return;
        }
        let longest = FIRST_SPREAD.saturating_mul(1 << self.put_off.min(DOUBLINGS));
        self.put_off = self.put_off.saturating_add(1);
        self.due = until + longest.min(LONGEST_SPREAD).mul_f64(chance.clamp(0.0, 1.0));
    }

    /// Whether it waits for nothing but its turn to ask.
    pub(super) fn is_put_off(&self) -> bool {
        self.put_off > 0
    }

    /// It may be its turn.
    pub(super) fn called(&mut self, now: Time) {
        self.due = self.due.min(now);
    }

    /// There is news: what was refused may be tried again.
    pub(super) fn released(&mut self) {
        self.refused = None;
        self.followed = false;
        self.pauses = 0;
        self.put_off = 0;
    }

    /// Somebody else's pauses are over: this one goes on with them.
    pub(super) fn made_scout(&mut self, now: Time, chance: f64) {
        self.pause(now, chance);
    }

    fn pause(&mut self, now: Time, chance: f64) {
        let longest = FIRST_PAUSE.saturating_mul(1 << self.pauses.min(DOUBLINGS));
        let pause = longest.min(LONGEST_PAUSE).mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0));
        self.pauses = self.pauses.saturating_add(1);
        self.due = now + pause;
        self.asked = false;
    }
}

#[cfg(test)]
mod tests;
