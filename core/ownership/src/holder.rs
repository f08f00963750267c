//! The executor's side of a session: which shards run here, under which
//! generation, and until when.
//!
//! Passive, in quinn's verbs: call a method for what happened, then poll actions
//! until there are none, then sleep until `poll_timeout` or the next event. It
//! opens no stream, runs no shard, measures no load and reads no clock.
//!
//! What it guarantees, whatever comes in whatever order:
//!
//! 1. A shard has at most one instance here: it is never started while its own
//!    earlier start or stop still runs.
//! 2. From the end of the lease nothing runs: [`Holder::may_run`] says so at the
//!    instant, and everything is told to stop, whatever the connection does.
//! 3. Every revocation is confirmed, and only when the shard does not run: by a
//!    `Stopped` of that generation or a later one, or by a hello without it.
//! 4. Acknowledgements of what was sent on an earlier stream count for nothing.
//!
//! The second is given up where the namespace says [`LeaseEnd::Keep`]: then the
//! end of the lease is told and everything runs on.
//!
//! The driver's part: every `Start` is answered by one `started`, every `Stop` by
//! one `stopped`, a `Stop` that overtakes a start by `stopped` alone (a `started`
//! before it is ignored), every `Prepare` by one `prepared` unless a `Start` or an
//! `Abandon` of the shard comes first; nothing that came on an earlier stream is
//! handed in after `Reconnect`.
//!
//! [`LeaseEnd::Keep`]: crate::message::LeaseEnd::Keep

mod held;
mod lease;
mod legacy;
mod link;
mod message;
mod orders;
mod prepare;
mod shards;
mod stream;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use crate::message::{MAX_STATE_BYTES, State};
use held::{Held, Phase};
use lease::Lease;
use legacy::Legacies;
use link::Link;
pub use message::{
    Action, FarewellReason, Finish, Holding, Incoming, Outgoing, Pace, Revocation, StopReason,
};
use prepare::Preparing;
pub use view::{Shard, ShardPhase};

/// What a holder can be told beside what the server decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// The lease ends here one part in so many before it ends at the server: 5
    /// leaves a fifth unused. 0 leaves nothing unused.
    pub margin_divisor: u32,
    /// How long a welcome or a farewell may take; a welcome, no longer than the last
    /// lease was to be used.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin_divisor: 5, patience: Duration::from_secs(5) }
    }
}

/// One executor's shards and its session. See the head of this file.
#[derive(Debug)]
pub struct Holder {
    settings: Settings,
    link: Link,
    lease: Lease,
    shards: BTreeMap<Arc<str>, Held>,
    /// What is being made ready, or is ready, for a grant to come.
    preparing: BTreeMap<Arc<str>, Preparing>,
    intent: Intent,
    legacies: Legacies,
    /// Shards said to have stopped since the hello, up to which generation: the
    /// welcome that answers it may name them all the same.
    stopped_since_hello: BTreeMap<Arc<str>, u64>,
    /// Counts the beats of all streams, so that none has the number of another.
    sequence: u64,
    actions: VecDeque<Action>,
}

/// What the executor is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Intent {
    Serve,
    /// Runs what it has and wants no more.
    Leave,
    /// Stops everything, then says goodbye. `returning`: the server keeps it all
    /// for the process that comes back.
    Part {
        returning: bool,
    },
    /// Stops everything; then it is over, without a word.
    End(Finish),
    Over,
}

impl Holder {
    /// A holder of nothing, without a stream.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            link: Link::Down,
            lease: Lease::new(settings.margin_divisor),
            shards: BTreeMap::new(),
            preparing: BTreeMap::new(),
            intent: Intent::Serve,
            legacies: Legacies::default(),
            stopped_since_hello: BTreeMap::new(),
            sequence: 0,
            actions: VecDeque::new(),
        }
    }

    /// A fresh stream is open: says hello on it.
    pub fn connected(&mut self, now: Time) {
        self.expire(now);
        if self.is_ending() {
            return;
        }
        self.forget_unsent();
        self.stopped_since_hello.clear();
        self.link = Link::Greeting { hello_sent: now };
        self.send(Outgoing::Hello { running: self.holdings() });
        self.say_legacies();
        if matches!(self.intent, Intent::Leave | Intent::Part { returning: false }) {
            self.send(Outgoing::Leaving);
        }
        self.settle(now);
    }

    /// The stream is gone. Shards run on under the lease.
    pub fn disconnected(&mut self, now: Time) {
        self.expire(now);
        self.hang_up(Pace::BackOff);
    }

    /// The start of a shard came to an end; `Err` says why there is no instance.
    pub fn started(
        &mut self,
        now: Time,
        shard: &str,
        generation: u64,
        outcome: Result<(), String>,
    ) {
        self.end_start(shard, generation, outcome);
        // Only now: nobody is to be told to stop what has just failed to start.
        self.expire(now);
    }

    fn end_start(&mut self, shard: &str, generation: u64, outcome: Result<(), String>) {
        let Some((shard, held)) = self.shards.get_key_value(shard) else { return };
        if held.phase != Phase::Starting || held.instance != generation {
            return;
        }
        let (shard, generation) = (Arc::clone(shard), held.generation);
        match outcome {
            Ok(()) => self.run(&shard),
            Err(error) => {
                self.shards.remove(&shard);
                let error = Some(error);
                self.say(Outgoing::Stopped { shard, generation, error, state: None });
            }
        }
    }

    /// The stop of a shard came to an end: there is no instance any more. `state`
    /// is for the next owner; above [`MAX_STATE_BYTES`] it is not handed over.
    pub fn stopped(&mut self, now: Time, shard: &str, generation: u64, state: Option<State>) {
        self.expire(now);
        let Some((shard, held)) = self.shards.get_key_value(shard) else { return };
        let Phase::Stopping(stop) = &held.phase else { return };
        if held.instance != generation {
            return;
        }
        // Another may have run it since an instance that lost its lease long ago.
        let is_latest = held.generation == stop.confirms;
        let (shard, stop) = (Arc::clone(shard), stop.clone());
        self.shards.remove(&shard);
        if stop.tells {
            let state = state.filter(|state| is_latest && state.len() <= MAX_STATE_BYTES);
            if let Some(state) = state.clone() {
                self.leave_legacy(&shard, stop.confirms, state);
            }
            self.confirm(shard, stop.confirms, state);
        }
        if let Some(grant) = stop.waiting {
            self.start(grant);
        }
        self.settle(now);
    }

    /// The application has finished the work of a shard: asks the server to
    /// revoke it. Nothing happens if the shard is not held.
    pub fn done(&mut self, now: Time, shard: &str) {
        self.expire(now);
        let Some(held) = self.shards.get_mut(shard) else { return };
        held.done = true;
        if held.is_running() {
            self.say_done(shard);
        }
    }

    /// Asks the server to move everything away, and goes on until it has.
    pub fn leave(&mut self, now: Time) {
        self.expire(now);
        if self.intent == Intent::Serve {
            self.intent = Intent::Leave;
            self.say(Outgoing::Leaving);
        }
    }

    /// Stops everything by itself, says goodbye and is finished when the server
    /// has heard it.
    pub fn goodbye(&mut self, now: Time) {
        self.leave(now);
        self.part(now, false);
    }

    /// The same for a process that comes back under the same executor id: the
    /// server keeps its shards for it, if the namespace has a `restart_grace`.
    /// Nothing is handed to next owners.
    pub fn goodbye_for_now(&mut self, now: Time) {
        self.expire(now);
        self.part(now, true);
    }

    fn part(&mut self, now: Time, returning: bool) {
        if matches!(self.intent, Intent::Serve | Intent::Leave) {
            self.intent = Intent::Part { returning };
            self.abandon_all();
            self.stop_all(&StopReason::Shutdown);
            self.settle(now);
        }
    }

    /// The time that `poll_timeout` named has come.
    pub fn handle_timeout(&mut self, now: Time) {
        self.expire(now);
        if self.link.overdue(self.patience()).is_some_and(|at| now >= at) {
            self.hang_up(Pace::BackOff);
        }
        if matches!(self.link, Link::Up(_)) {
            self.beat_or_give_up(now);
        }
    }
}

#[cfg(test)]
mod tests;
