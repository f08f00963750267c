//! What holds of a holder whatever comes in whatever order. The driver and the
//! server here do what their contracts allow, at random.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::holder::{
    Action, FarewellReason, Holder, Incoming, Outgoing, Revocation, Settings,
};
use plimsoll_ownership::message::{Grant, LeaseEnd, Preparation};
use plimsoll_placement::time::Time;
use proptest::collection::vec;
use proptest::prelude::*;

const LEASE: Duration = Duration::from_millis(2_000);
const USABLE: Duration = Duration::from_millis(1_600);
const BEAT: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Connect,
    Disconnect,
    /// What is granted, and what is to be made ready.
    Welcome(Vec<(u8, u8)>, Vec<u8>),
    Grant(u8, u8),
    Revoke(u8, u8),
    Prepare(u8, u8),
    Abandon(u8, u8),
    PrepareEnds(u8, bool),
    /// Acknowledges one of the beats ever sent, perhaps of an earlier stream.
    Acknowledge(prop::sample::Index),
    Farewell(FarewellReason),
    StartEnds(u8, bool),
    StopEnds(u8),
    Done(u8),
    Leave,
    /// Whether it comes back.
    Goodbye(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let shard = 0..4u8;
    let generation = 0..12u8;
    prop_oneof![
        6 => (0..900u64).prop_map(Step::Wait),
        4 => Just(Step::Connect),
        1 => Just(Step::Disconnect),
        4 => (vec((shard.clone(), generation.clone()), 0..4), vec(shard.clone(), 0..2))
            .prop_map(|(grants, ready)| Step::Welcome(grants, ready)),
        3 => (shard.clone(), generation.clone()).prop_map(|(s, g)| Step::Prepare(s, g)),
        1 => (shard.clone(), generation.clone()).prop_map(|(s, g)| Step::Abandon(s, g)),
        3 => (shard.clone(), any::<bool>()).prop_map(|(s, ok)| Step::PrepareEnds(s, ok)),
        4 => (shard.clone(), generation.clone()).prop_map(|(s, g)| Step::Grant(s, g)),
        4 => (shard.clone(), generation).prop_map(|(s, g)| Step::Revoke(s, g)),
        4 => any::<prop::sample::Index>().prop_map(Step::Acknowledge),
        1 => farewell().prop_map(Step::Farewell),
        6 => (shard.clone(), any::<bool>()).prop_map(|(s, ok)| Step::StartEnds(s, ok)),
        6 => shard.clone().prop_map(Step::StopEnds),
        1 => shard.prop_map(Step::Done),
        1 => Just(Step::Leave),
    ]
}

fn farewell() -> impl Strategy<Value = FarewellReason> {
    prop_oneof![
        4 => Just(FarewellReason::Expired),
        4 => Just(FarewellReason::ServerLeaving),
        2 => Just(FarewellReason::NamespaceDeleted),
        1 => Just(FarewellReason::Goodbye),
        1 => Just(FarewellReason::Replaced),
    ]
}

/// A shard's instance as the driver knows it.
#[derive(Debug)]
struct Instance {
    generation: u64,
    /// The start has come to an end.
    started: bool,
    stop_asked: bool,
}

struct World {
    now: Time,
    holder: Holder,
    connected: bool,
    instances: BTreeMap<Arc<str>, Instance>,
    /// When the hello of the present stream was sent.
    hello: Time,
    beats: Vec<(u64, Time)>,
    /// The first of `beats` that was sent on the present stream.
    stream_begins: usize,
    /// From then on nothing may run.
    lease_end: Time,
    welcome: bool,
    /// Revocations of the present stream that wait for their confirmation.
    unconfirmed: BTreeSet<(Arc<str>, u64)>,
    /// Shards that the hello names although they have stopped.
    to_be_said: BTreeSet<Arc<str>>,
    /// What the driver makes ready or has ready, and whether it said so.
    preparing: BTreeMap<Arc<str>, (u64, bool)>,
    /// What the welcomes say of the end of the lease.
    lease_ends: LeaseEnd,
    /// A welcome gave the lease and no farewell has ended it.
    given: bool,
    parting: bool,
    finished: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn nothing_runs_twice_or_past_its_lease_and_revocations_are_confirmed(
        steps in vec(step(), 0..120),
        ends_with_goodbye in any::<bool>(),
        returns in any::<bool>(),
        keeps in any::<bool>(),
    ) {
        let mut world = World::new(if keeps { LeaseEnd::Keep } else { LeaseEnd::Stop });
        for step in steps {
            world.take(step);
        }
        if ends_with_goodbye {
            world.take(Step::Goodbye(returns));
        }
        world.end_every_stop();
        world.expect_every_confirmation();
        if ends_with_goodbye {
            world.expect_a_finish();
        }
    }
}

impl World {
    fn new(lease_ends: LeaseEnd) -> Self {
        Self {
            now: Time::from_millis(1),
            holder: Holder::new(Settings::default()),
            connected: false,
            instances: BTreeMap::new(),
            hello: Time::ZERO,
            beats: Vec::new(),
            stream_begins: 0,
            lease_end: Time::ZERO,
            welcome: false,
            unconfirmed: BTreeSet::new(),
            to_be_said: BTreeSet::new(),
            preparing: BTreeMap::new(),
            lease_ends,
            given: false,
            parting: false,
            finished: false,
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Wait(millis) => self.wait(Duration::from_millis(millis)),
            Step::Connect => self.connect(),
            Step::Disconnect => self.disconnect(),
            Step::Welcome(grants, ready) => self.say_welcome(&grants, &ready),
            Step::Grant(shard, generation) => {
                self.say(Incoming::Granted(vec![Grant::new(key(shard), generation.into())]));
            }
            Step::Revoke(shard, generation) => self.revoke(shard, generation),
            Step::Prepare(shard, generation) => {
                self.say(Incoming::Prepare(vec![preparation(shard, generation)]));
            }
            Step::Abandon(shard, generation) => {
                self.say(Incoming::Abandon(vec![preparation(shard, generation)]));
            }
            Step::PrepareEnds(shard, well) => self.end_preparing(&key(shard), well),
            Step::Acknowledge(which) => self.acknowledge(which),
            Step::Farewell(reason) => self.say_farewell(reason),
            Step::StartEnds(shard, well) => self.end_start(&key(shard), well),
            Step::StopEnds(shard) => self.end_stop(&key(shard)),
            Step::Done(shard) => self.holder.done(self.now, &key(shard)),
            Step::Leave => self.holder.leave(self.now),
            Step::Goodbye(returning) => {
                self.parting = true;
                match returning {
                    true => self.holder.goodbye_for_now(self.now),
                    false => self.holder.goodbye(self.now),
                }
            }
        }
        self.perform();
        self.check();
    }

    /// Lets time pass from deadline to deadline.
    fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some(due) = self.holder.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.holder.handle_timeout(self.now);
            let stuck = self.holder.poll_timeout() == Some(due);
            assert!(!stuck, "the deadline {due:?} was handled and stays");
            self.perform();
            self.check();
        }
        self.now = until;
    }

    fn connect(&mut self) {
        if self.connected || self.finished {
            return;
        }
        self.connected = true;
        self.hello = self.now;
        self.stream_begins = self.beats.len();
        self.welcome = false;
        self.unconfirmed.clear();
        self.holder.connected(self.now);
        self.perform();
        assert!(self.to_be_said.is_empty(), "nobody says that {:?} stopped", self.to_be_said);
    }

    fn disconnect(&mut self) {
        if self.connected {
            self.connected = false;
            self.holder.disconnected(self.now);
        }
    }

    fn say(&mut self, message: Incoming) {
        if self.connected {
            self.holder.handle(self.now, message);
        }
    }

    fn say_welcome(&mut self, grants: &[(u8, u8)], ready: &[u8]) {
        if !self.connected || self.welcome {
            return;
        }
        self.welcome = true;
        self.lease_end = self.hello + USABLE;
        self.given = true;
        let grants: BTreeMap<_, _> = grants.iter().map(|(s, g)| (key(*s), u64::from(*g))).collect();
        let granted = grants.keys().cloned().collect::<BTreeSet<_>>();
        let grants = grants.into_iter().map(|(shard, g)| Grant::new(shard, g)).collect();
        let preparations = ready.iter().map(|shard| preparation(*shard, 20)).collect();
        let lease_end = self.lease_ends;
        self.say(Incoming::Welcome { lease: LEASE, beat: BEAT, lease_end, grants, preparations });
        self.perform();
        for (shard, instance) in &self.instances {
            assert!(granted.contains(shard) || instance.stop_asked, "{shard} is not granted");
        }
        if self.holder.is_welcome() {
            let named = |shard: &Arc<str>| ready.iter().any(|it| key(*it) == *shard);
            assert!(self.preparing.keys().all(named), "{:?} is kept ready", self.preparing);
        }
    }

    fn revoke(&mut self, shard: u8, generation: u8) {
        if !self.connected || !self.welcome {
            return;
        }
        let (shard, generation) = (key(shard), u64::from(generation));
        self.unconfirmed.insert((shard.clone(), generation));
        let reason = "move".to_owned();
        self.say(Incoming::Revoked(vec![Revocation { shard, generation, reason, next: None }]));
    }

    fn acknowledge(&mut self, which: prop::sample::Index) {
        if self.beats.is_empty() || !self.connected {
            return;
        }
        let index = which.index(self.beats.len());
        let (sequence, sent) = self.beats[index];
        if index >= self.stream_begins && self.welcome && self.now < self.lease_end {
            self.lease_end = self.lease_end.max(sent + USABLE);
        }
        self.say(Incoming::BeatAck { sequence });
    }

    fn say_farewell(&mut self, reason: FarewellReason) {
        if self.connected && reason != FarewellReason::ServerLeaving {
            self.lease_end = self.now;
            self.given = false;
        }
        self.say(Incoming::Farewell(reason));
        self.connected = false;
    }

    fn end_start(&mut self, shard: &Arc<str>, well: bool) {
        let Some(instance) = self.instances.get_mut(shard) else { return };
        if instance.started {
            return;
        }
        instance.started = true;
        let generation = instance.generation;
        if !well && !instance.stop_asked {
            self.instances.remove(shard);
        }
        let outcome = if well { Ok(()) } else { Err("no".to_owned()) };
        self.holder.started(self.now, shard, generation, outcome);
    }

    fn end_stop(&mut self, shard: &Arc<str>) {
        if self.instances.get(shard).is_some_and(|instance| instance.stop_asked)
            && let Some(instance) = self.instances.remove(shard)
        {
            let state = (instance.generation > 5).then(|| Arc::from([7]));
            self.holder.stopped(self.now, shard, instance.generation, state);
        }
    }

    fn end_preparing(&mut self, shard: &Arc<str>, well: bool) {
        let Some((generation, ready)) = self.preparing.get_mut(shard) else { return };
        if *ready {
            return;
        }
        let generation = *generation;
        *ready = true;
        if !well {
            self.preparing.remove(shard);
        }
        let outcome = if well { Ok(()) } else { Err("no".to_owned()) };
        self.holder.prepared(self.now, shard, generation, outcome);
    }

    fn perform(&mut self) {
        while let Some(action) = self.holder.poll_action() {
            match action {
                Action::Send(message) => self.hear(message),
                Action::Start(grant) => self.start(grant.shard, grant.generation),
                Action::Prepare(Preparation { shard, generation }) => {
                    assert!(!self.parting, "{shard} is made ready after the goodbye");
                    let earlier = self.preparing.insert(shard, (generation, false));
                    assert_eq!(earlier, None, "made ready twice at once");
                }
                Action::Abandon(Preparation { shard, generation }) => {
                    let known = self.preparing.remove(&shard).map(|(known, _)| known);
                    assert_eq!(known, Some(generation), "{shard} was not being made ready");
                }
                Action::LeaseOutlived => {
                    assert!(self.keeps() && self.now >= self.lease_end, "the lease is not over");
                }
                Action::Stop { shard, generation, .. } => self.ask_stop(&shard, generation),
                Action::Reconnect(_) => self.connected = false,
                Action::Finished(_) => {
                    assert!(self.instances.is_empty(), "finished while a shard runs");
                    self.finished = true;
                    self.connected = false;
                }
            }
        }
    }

    fn start(&mut self, shard: Arc<str>, generation: u64) {
        assert!(self.leased(), "{shard} is started without a lease");
        self.preparing.remove(&shard);
        assert!(!self.parting, "{shard} is started after the goodbye");
        let instance = Instance { generation, started: false, stop_asked: false };
        let other = self.instances.insert(shard, instance);
        assert!(other.is_none(), "a second instance beside {other:?}");
    }

    fn ask_stop(&mut self, shard: &str, generation: u64) {
        let Some(instance) = self.instances.get_mut(shard) else {
            panic!("{shard} is told to stop and was never started");
        };
        assert!(!instance.stop_asked, "{shard} is told to stop twice");
        assert_eq!(instance.generation, generation);
        instance.stop_asked = true;
    }

    fn hear(&mut self, message: Outgoing) {
        assert!(self.connected, "{message:?} without a stream");
        match message {
            Outgoing::Hello { running } => {
                // What has stopped may have left something that was not heard.
                let (held, left): (Vec<_>, Vec<_>) =
                    running.iter().partition(|it| self.instances.contains_key(&it.shard));
                let held: Vec<_> = held.iter().map(|it| &it.shard).collect();
                assert_eq!(held, self.instances.keys().collect::<Vec<_>>());
                assert!(left.iter().all(|it| it.stopping), "{left:?} is said to run");
                self.to_be_said = left.iter().map(|it| it.shard.clone()).collect();
            }
            Outgoing::Beat { sequence } => self.beats.push((sequence, self.now)),
            Outgoing::Started { shard, .. } => {
                let runs = self.instances.get(&shard).is_some_and(|it| it.started);
                assert!(runs, "{shard} is said to run");
            }
            Outgoing::Stopped { shard, generation, .. } => {
                self.expect_not_running(&shard, generation);
                self.to_be_said.remove(&shard);
                self.unconfirmed.retain(|(s, g)| *s != shard || *g > generation);
            }
            Outgoing::Prepared { shard, error, .. } => {
                let ready = self.preparing.get(&shard).is_some_and(|(_, ready)| *ready);
                let known = ready || self.instances.contains_key(&shard);
                assert!(known || error.is_some(), "{shard} is said to be ready");
            }
            Outgoing::Goodbye { .. } => {
                assert!(self.instances.is_empty(), "goodbye while a shard runs");
                self.unconfirmed.clear();
            }
            Outgoing::Done { .. } | Outgoing::Leaving => {}
        }
    }

    /// An instance of a later grant may run: that of this one does not.
    fn expect_not_running(&self, shard: &str, generation: u64) {
        if self.instances.contains_key(shard) {
            let granted = self.holder.shards().find(|held| &**held.shard == shard);
            assert!(granted.is_some_and(|held| held.generation > generation), "{shard} runs");
        }
    }

    fn check(&self) {
        for (shard, instance) in &self.instances {
            if !self.leased() {
                assert!(self.holder.may_run(self.now, shard).is_none(), "{shard} may run");
            }
            assert!(self.keeps() || self.holder.may_run(self.lease_end, shard).is_none());
            if instance.stop_asked || !instance.started {
                assert!(self.holder.may_run(self.now, shard).is_none());
            }
        }
    }

    fn keeps(&self) -> bool {
        self.lease_ends == LeaseEnd::Keep
    }

    /// Whether shards may run: where leases are outlived, unless the server has
    /// ended this one.
    fn leased(&self) -> bool {
        self.now < self.lease_end || self.keeps() && self.given
    }

    fn end_every_stop(&mut self) {
        let due = self.holder.poll_timeout().filter(|due| *due <= self.now);
        if due.is_some() {
            self.holder.handle_timeout(self.now);
            self.perform();
        }
        if !self.leased() {
            assert!(self.instances.values().all(|it| it.stop_asked), "the lease is over");
        }
        for shard in self.instances.keys().cloned().collect::<Vec<_>>() {
            self.end_stop(&shard);
            self.perform();
        }
    }

    fn expect_every_confirmation(&self) {
        assert!(!self.connected || self.unconfirmed.is_empty(), "{:?}", self.unconfirmed);
    }

    fn expect_a_finish(&mut self) {
        self.connect();
        self.perform();
        self.say(Incoming::Farewell(FarewellReason::Goodbye));
        self.perform();
        assert!(self.finished, "{:?}", self.holder);
    }
}

fn preparation(shard: u8, generation: u8) -> Preparation {
    Preparation { shard: key(shard), generation: generation.into() }
}

fn key(shard: u8) -> Arc<str> {
    shard.to_string().into()
}
