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
//! The driver's part: every `Start` is answered by one `started`, every `Stop` by
//! one `stopped`, a `Stop` that overtakes a start by `stopped` alone (a `started`
//! before it is ignored); nothing that came on an earlier stream is handed in
//! after `Reconnect`.

mod held;
mod lease;
mod link;
mod message;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use held::{Held, Phase};
use lease::Lease;
use link::{Beats, Link};
pub use message::{Action, FarewellReason, Finish, Holding, Incoming, Outgoing, Pace, StopReason};

/// What a holder can be told beside what the server decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// The lease ends here one part in so many before it ends at the server: 5
    /// leaves a fifth unused. 0 leaves nothing unused.
    pub margin_divisor: u32,
    /// How long a welcome or a farewell may take.
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
    intent: Intent,
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
    /// Stops everything, then says goodbye.
    Part,
    /// Stops everything; then it is over, without a word.
    End(Finish),
    Over,
}

// === impl Holder: what happens ===

impl Holder {
    /// A holder of nothing, without a stream.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            link: Link::Down,
            lease: Lease::new(settings.margin_divisor),
            shards: BTreeMap::new(),
            intent: Intent::Serve,
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
        if self.intent != Intent::Serve {
            self.send(Outgoing::Leaving);
        }
        self.settle(now);
    }

    /// The stream is gone. Shards run on under the lease.
    pub fn disconnected(&mut self, now: Time) {
        self.expire(now);
        self.hang_up(Pace::BackOff);
    }

    /// The server said something on the present stream. What comes before the
    /// welcome is void: the welcome says it all.
    pub fn handle(&mut self, now: Time, message: Incoming) {
        self.expire(now);
        if matches!(self.link, Link::Down) {
            return;
        }
        match message {
            Incoming::Welcome { lease, beat, grants } => self.welcome(now, lease, beat, grants),
            Incoming::Farewell(reason) => self.part(reason),
            _ if !self.is_welcome() => {}
            Incoming::Granted(grants) => self.grant_all(grants),
            Incoming::Revoked(revocations) => self.revoke_all(revocations),
            Incoming::BeatAck { sequence } => self.acknowledge(sequence),
        }
        self.settle(now);
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
                self.say(Outgoing::Stopped { shard, generation, error: Some(error) });
            }
        }
    }

    /// The stop of a shard came to an end: there is no instance any more.
    pub fn stopped(&mut self, now: Time, shard: &str, generation: u64) {
        self.expire(now);
        let Some((shard, held)) = self.shards.get_key_value(shard) else { return };
        let Phase::Stopping { confirms, waiting } = held.phase else { return };
        if held.instance != generation {
            return;
        }
        let shard = Arc::clone(shard);
        self.shards.remove(&shard);
        self.confirm(Arc::clone(&shard), confirms);
        if let Some(generation) = waiting {
            self.start(shard, generation);
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
        if self.intent == Intent::Leave {
            self.intent = Intent::Part;
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

// === impl Holder: what follows ===

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
            phase: held.phase.into(),
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

    /// From when on nothing may run; `None` if that is so already.
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

impl From<Phase> for ShardPhase {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Starting => Self::Starting,
            Phase::Running => Self::Running,
            Phase::Stopping { .. } => Self::Stopping,
        }
    }
}

// === impl Holder: what the server says ===

impl Holder {
    fn welcome(
        &mut self,
        now: Time,
        lease: Duration,
        beat: Duration,
        grants: Vec<(Arc<str>, u64)>,
    ) {
        let Link::Greeting { hello_sent } = self.link else { return };
        self.lease.set(lease, hello_sent);
        self.link = Link::Up(Beats::new(beat, hello_sent));
        self.expire(now);
        if !self.link.is_open() {
            return;
        }
        self.stop_all_but(&grants);
        let stopped = std::mem::take(&mut self.stopped_since_hello);
        for (shard, generation) in grants {
            if stopped.get(&shard).is_none_or(|up_to| generation > *up_to) {
                self.regrant(shard, generation);
            }
        }
        self.announce_running();
    }

    fn grant_all(&mut self, grants: Vec<(Arc<str>, u64)>) {
        for (shard, generation) in grants {
            match self.shards.get_mut(&shard) {
                Some(held) => held.grant(generation),
                None => self.start(shard, generation),
            }
        }
    }

    fn regrant(&mut self, shard: Arc<str>, generation: u64) {
        match self.shards.get_mut(&shard) {
            Some(held) => held.regrant(generation),
            None => self.start(shard, generation),
        }
    }

    fn revoke_all(&mut self, revocations: Vec<(Arc<str>, u64, String)>) {
        for (shard, generation, reason) in revocations {
            self.revoke(shard, generation, reason);
        }
    }

    fn revoke(&mut self, shard: Arc<str>, generation: u64, reason: String) {
        let confirmed_later = match self.shards.get(&shard) {
            Some(held) => held.is_stopping() || held.generation <= generation,
            None => false,
        };
        if !confirmed_later {
            return self.confirm(shard, generation);
        }
        self.stop(&shard, StopReason::Revoked(reason));
        if let Some(held) = self.shards.get_mut(&shard) {
            held.confirm_up_to(generation);
        }
    }

    fn acknowledge(&mut self, sequence: u64) {
        if let Link::Up(beats) = &mut self.link
            && let Some(sent) = beats.acknowledge(sequence)
        {
            self.lease.renew(sent);
        }
    }

    /// A farewell. After a goodbye any of them will do but that of a server which
    /// only hands the namespace on.
    fn part(&mut self, reason: FarewellReason) {
        let goodbye_meant = self.intent == Intent::Part;
        match reason {
            FarewellReason::ServerLeaving => self.hang_up(Pace::AtOnce),
            FarewellReason::Replaced => self.end(Finish::Replaced, &StopReason::Replaced),
            _ if goodbye_meant => self.end(Finish::Goodbye, &StopReason::Shutdown),
            FarewellReason::Goodbye | FarewellReason::Expired => {
                self.lose_everything(&StopReason::LeaseLost, Pace::AtOnce);
            }
            FarewellReason::NamespaceDeleted => {
                self.lose_everything(&StopReason::NamespaceDeleted, Pace::Slowly);
            }
        }
    }

    fn lose_everything(&mut self, reason: &StopReason, pace: Pace) {
        self.lease.end();
        self.stop_all(reason);
        self.hang_up(pace);
    }

    fn end(&mut self, finish: Finish, reason: &StopReason) {
        self.lease.end();
        self.stop_all(reason);
        self.forget_unsent();
        self.link = Link::Down;
        self.intent = Intent::End(finish);
    }
}

// === impl Holder: shards ===

impl Holder {
    /// Starts a shard that is not held. An executor that parts gives it back.
    fn start(&mut self, shard: Arc<str>, generation: u64) {
        if !matches!(self.intent, Intent::Serve | Intent::Leave) {
            return self.confirm(shard, generation);
        }
        self.shards.insert(Arc::clone(&shard), Held::starting(generation));
        self.actions.push_back(Action::Start { shard, generation });
    }

    fn run(&mut self, shard: &Arc<str>) {
        let Some(held) = self.shards.get_mut(shard) else { return };
        held.phase = Phase::Running;
        let (generation, done) = (held.generation, held.done);
        self.say(Outgoing::Started { shard: Arc::clone(shard), generation });
        if done {
            self.say_done(shard);
        }
    }

    fn stop(&mut self, shard: &Arc<str>, reason: StopReason) {
        let Some(held) = self.shards.get_mut(shard) else { return };
        if held.stop() {
            let (shard, generation) = (Arc::clone(shard), held.instance);
            self.actions.push_back(Action::Stop { shard, generation, reason });
        }
    }

    fn stop_all(&mut self, reason: &StopReason) {
        self.stop_all_but_these(&BTreeSet::new(), reason);
    }

    fn stop_all_but(&mut self, grants: &[(Arc<str>, u64)]) {
        let granted = grants.iter().map(|(shard, _)| &**shard).collect();
        self.stop_all_but_these(&granted, &StopReason::NotGranted);
    }

    fn stop_all_but_these(&mut self, kept: &BTreeSet<&str>, reason: &StopReason) {
        for (shard, held) in &mut self.shards {
            if kept.contains(&**shard) {
                continue;
            }
            held.drop_waiting();
            if held.stop() {
                let (shard, generation) = (Arc::clone(shard), held.instance);
                self.actions.push_back(Action::Stop { shard, generation, reason: reason.clone() });
            }
        }
    }

    fn confirm(&mut self, shard: Arc<str>, generation: u64) {
        self.say(Outgoing::Stopped { shard, generation, error: None });
    }

    fn say_done(&mut self, shard: &str) {
        if let Some((shard, held)) = self.shards.get_key_value(shard) {
            let (shard, generation) = (Arc::clone(shard), held.generation);
            self.say(Outgoing::Done { shard, generation });
        }
    }

    /// Says again what may have been lost with the stream before.
    fn announce_running(&mut self) {
        let running: Vec<_> = self
            .shards
            .iter()
            .filter(|(_, held)| held.is_running())
            .map(|(shard, _)| Arc::clone(shard))
            .collect();
        for shard in running {
            self.run(&shard);
        }
    }

    fn holdings(&self) -> Vec<Holding> {
        self.shards
            .iter()
            .map(|(shard, held)| Holding {
                shard: Arc::clone(shard),
                generation: held.generation,
                stopping: held.is_stopping(),
            })
            .collect()
    }
}

// === impl Holder: the stream and the lease ===

impl Holder {
    /// Stops everything if the lease is over. A stream on which it ran out is of
    /// no use.
    fn expire(&mut self, now: Time) {
        if self.lease.ends().is_some_and(|end| now >= end) {
            self.lease.end();
            self.stop_all(&StopReason::LeaseLost);
            if matches!(self.link, Link::Up(_)) {
                self.hang_up(Pace::BackOff);
            }
        }
    }

    fn beat_or_give_up(&mut self, now: Time) {
        if self.lease.gives_up().is_some_and(|at| now >= at) {
            return self.hang_up(Pace::AtOnce);
        }
        if let Link::Up(beats) = &mut self.link
            && now >= beats.next()
        {
            self.sequence += 1;
            beats.send(now, self.sequence);
            let sequence = self.sequence;
            self.send(Outgoing::Beat { sequence });
        }
    }

    fn hang_up(&mut self, pace: Pace) {
        if matches!(self.link, Link::Down) {
            return;
        }
        self.forget_unsent();
        self.link = Link::Down;
        self.actions.push_back(Action::Reconnect(pace));
    }

    /// What was to be said on an earlier stream is void: the next hello says it.
    fn forget_unsent(&mut self) {
        self.actions.retain(|action| !matches!(action, Action::Send(_)));
    }

    /// Sends, if there is a stream on which shards can be talked about.
    fn say(&mut self, message: Outgoing) {
        if let (Link::Greeting { .. }, Outgoing::Stopped { shard, generation, .. }) =
            (&self.link, &message)
        {
            let up_to = self.stopped_since_hello.entry(Arc::clone(shard)).or_default();
            *up_to = (*up_to).max(*generation);
        }
        if self.link.is_open() {
            self.send(message);
        }
    }

    fn send(&mut self, message: Outgoing) {
        self.actions.push_back(Action::Send(message));
    }

    /// Takes the last step of a goodbye once nothing runs.
    fn settle(&mut self, now: Time) {
        if !self.shards.is_empty() {
            return;
        }
        match self.intent {
            Intent::Part if self.link.is_open() => {
                self.send(Outgoing::Goodbye);
                self.link = Link::Parting { goodbye_sent: now };
            }
            Intent::End(finish) => {
                self.intent = Intent::Over;
                self.actions.push_back(Action::Finished(finish));
            }
            _ => {}
        }
    }

    fn is_ending(&self) -> bool {
        matches!(self.intent, Intent::End(_) | Intent::Over)
    }

    fn patience(&self) -> Duration {
        self.settings.patience
    }
}

#[cfg(test)]
mod tests;
