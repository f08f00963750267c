//! One namespace, a store, a few executors, and a clock that a test moves.
//!
//! Executors here are as simple as can be: those that `beat` do so twice a
//! second, start what they are granted at once and, if they are `prompt`, stop
//! what is revoked at once. `Namespace::check` must hold after every event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::{Action, Farewell, Outcome, RouteChange, Tell};
use plimsoll_ownership::event::{Event, What};
use plimsoll_ownership::ids::{RequestId, SessionId};
use plimsoll_ownership::message::Grant;
use plimsoll_ownership::namespace::{
    Heartbeat, HeartbeatAnswer, Hello, Holding, Namespace, Order, Origin, Report, SessionEvent,
    UnaryStatus,
};
use plimsoll_ownership::record::{DrainRecord, Kind, NamespaceRecord, Write};
use plimsoll_ownership::settings::Settings;
use plimsoll_placement::time::Time;

use crate::store::Store;

/// What `Time::ZERO` is, in milliseconds since 1970.
pub(crate) const EPOCH_MS: u64 = 1_700_000_000_000;
const BEAT: Duration = Duration::from_millis(500);

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) namespace: Namespace,
    pub(crate) store: Store,
    /// Whether a commit is acknowledged at once or by `World::commit`.
    pub(crate) stores_at_once: bool,
    pub(crate) executors: BTreeMap<&'static str, Session>,
    pub(crate) told: Vec<(SessionId, Tell)>,
    pub(crate) events: Vec<Event>,
    pub(crate) written: Vec<Write>,
    /// What spectators know.
    pub(crate) routes: BTreeMap<Arc<str>, (Arc<str>, u64)>,
    answers: BTreeMap<RequestId, Outcome>,
    in_flight: Option<Vec<Write>>,
    next_session: u64,
    next_request: u64,
}

/// An executor with a session.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) host: Arc<str>,
    pub(crate) runs: BTreeMap<Arc<str>, u64>,
    pub(crate) beats: bool,
    /// It confirms revocations at once.
    pub(crate) prompt: bool,
    /// Nothing starts here.
    pub(crate) fails: bool,
    /// It answers what it is told to prepare.
    pub(crate) prepares: bool,
    /// It says that shards have started.
    pub(crate) starts: bool,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) farewell: Option<Farewell>,
    pub(crate) loads: Vec<(Arc<str>, f64)>,
    next_beat: Time,
    sequence: u64,
}

impl World {
    pub(crate) fn fixed(shards: u32) -> Self {
        Self::with(Kind::Fixed { shards }, &[], Origin::New)
    }

    pub(crate) fn ephemeral() -> Self {
        Self::with(Kind::Ephemeral, &[], Origin::New)
    }

    pub(crate) fn with(kind: Kind, settings: &[(&str, &str)], origin: Origin) -> Self {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let record = NamespaceRecord { name: "orders".into(), kind, settings, frozen: false };
        Self::on(Store::new(record), Time::from_millis(1_000), origin)
    }

    /// A server that starts on what is stored.
    pub(crate) fn on(store: Store, now: Time, origin: Origin) -> Self {
        let namespace =
            Namespace::new(now, EPOCH_MS, &store.record, store.stored(), origin).unwrap();
        let mut world = Self::begin(store, now, namespace);
        world.turn();
        world
    }

    fn begin(store: Store, now: Time, namespace: Namespace) -> Self {
        let routes = namespace.routes().map(|(s, e, g)| (s.clone(), (e.clone(), g))).collect();
        Self {
            now,
            namespace,
            store,
            stores_at_once: true,
            executors: BTreeMap::new(),
            told: Vec::new(),
            events: Vec::new(),
            written: Vec::new(),
            routes,
            answers: BTreeMap::new(),
            in_flight: None,
            next_session: 0,
            next_request: 0,
        }
    }

    /// The server dies and starts again; the executors run on without a session.
    pub(crate) fn restart(&mut self, origin: Origin) {
        let store = match origin {
            Origin::Forgetful => Store::new(self.store.record.clone()),
            Origin::New | Origin::Durable | Origin::Takeover { .. } => self.store.clone(),
        };
        let mut next = Self::on(store, self.now, origin);
        next.next_session = self.next_session;
        next.executors = std::mem::take(&mut self.executors);
        next.executors.values_mut().for_each(|executor| executor.beats = false);
        *self = next;
    }

    /// The next leader takes over from this one, with its state.
    pub(crate) fn hand_over(&mut self) {
        let state = self.namespace.hand_over(self.now);
        let (record, stored) = (&self.store.record, self.store.stored());
        let later = Time::from_millis(500);
        let namespace = Namespace::take_over(later, EPOCH_MS, record, stored, state).unwrap();
        let mut next = Self::begin(self.store.clone(), later, namespace);
        next.stores_at_once = self.stores_at_once;
        next.next_session = self.next_session;
        next.executors = std::mem::take(&mut self.executors);
        next.executors.values_mut().for_each(|executor| executor.beats = false);
        *self = next;
        self.turn();
    }

    /// The batch on its way reaches the store, and nobody hears of it.
    pub(crate) fn reaches_the_store(&mut self) {
        let batch = self.in_flight.take().unwrap();
        self.store.apply(&batch);
    }
}

// === impl World: time and the store ===

impl World {
    pub(crate) fn run_for(&mut self, millis: u64) {
        self.run_until(self.now + Duration::from_millis(millis));
    }

    pub(crate) fn run_until(&mut self, end: Time) {
        while let Some(due) = self.next_due().filter(|due| *due <= end) {
            assert!(due >= self.now, "a deadline lies in the past");
            self.now = due;
            self.beat_all();
            if self.namespace.poll_timeout() <= self.now {
                self.namespace.handle_timeout(self.now);
                let next = self.namespace.poll_timeout();
                assert!(next > self.now, "the timer is due again at once: a shell would spin");
            }
            self.turn();
        }
        self.now = end;
    }

    fn next_due(&self) -> Option<Time> {
        let beats = self.executors.values().filter(|executor| executor.beats);
        let beat = beats.map(|executor| executor.next_beat).min();
        [Some(self.namespace.poll_timeout()), beat].into_iter().flatten().min()
    }

    /// The server stands still: time passes and nobody is heard.
    pub(crate) fn stall(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        for executor in self.executors.values_mut().filter(|executor| executor.beats) {
            executor.next_beat = self.now + Duration::from_millis(100);
        }
        self.namespace.handle_timeout(self.now);
        self.turn();
    }

    /// The batch on its way is durable.
    pub(crate) fn commit(&mut self) {
        self.store_batch();
        self.turn();
    }

    /// What a shell does after every batch of events.
    pub(crate) fn turn(&mut self) {
        loop {
            self.namespace.settle(self.now);
            self.expect_sound();
            self.begin_commit();
            let mut quiet = true;
            while let Some(action) = self.namespace.poll_action() {
                self.dispatch(action);
                quiet = false;
            }
            if self.stores_at_once && self.in_flight.is_some() {
                self.store_batch();
            } else if quiet {
                return;
            }
        }
    }

    fn store_batch(&mut self) {
        let Some(batch) = self.in_flight.take() else { return };
        self.store.apply(&batch);
        self.written.extend(batch);
        self.namespace.committed(self.now);
    }

    fn begin_commit(&mut self) {
        if let Some(batch) = self.namespace.take_commit() {
            assert!(self.in_flight.is_none(), "two batches are on their way at once");
            self.in_flight = Some(batch);
        }
    }

    fn expect_sound(&self) {
        assert_eq!(self.namespace.check(), Vec::<String>::new(), "at {:?}", self.now);
    }

    fn dispatch(&mut self, action: Action) {
        match action {
            Action::Tell { session, message } => self.deliver(session, message),
            Action::Answer { request, outcome } => {
                let earlier = self.answers.insert(request, outcome);
                assert_eq!(earlier, None, "answered twice");
            }
            Action::Record(event) => self.events.push(event),
            Action::Route(change) => self.route(change),
        }
    }

    fn route(&mut self, change: RouteChange) {
        match change {
            RouteChange::Owned { shard, executor, generation } => {
                self.routes.insert(shard, (executor, generation));
            }
            RouteChange::Unowned { shard } => drop(self.routes.remove(&shard)),
            _ => {}
        }
    }
}

// === impl World: executors with a session ===

impl World {
    /// A new executor, on a host of its own name, that beats and is prompt.
    pub(crate) fn join(&mut self, name: &'static str) {
        self.join_on(name, name);
    }

    pub(crate) fn join_on(&mut self, name: &'static str, host: &str) {
        self.join_as(name, host, |_| {});
    }

    /// One that is otherwise than most.
    pub(crate) fn join_as(
        &mut self,
        name: &'static str,
        host: &str,
        adapt: impl FnOnce(&mut Session),
    ) {
        let mut session = Session {
            id: SessionId(0),
            host: host.into(),
            runs: BTreeMap::new(),
            beats: true,
            prompt: true,
            fails: false,
            prepares: false,
            starts: true,
            metadata: BTreeMap::new(),
            farewell: None,
            loads: Vec::new(),
            next_beat: self.now,
            sequence: 0,
        };
        adapt(&mut session);
        self.executors.insert(name, session);
        self.reconnect(name);
    }

    /// Says hello with what it runs.
    pub(crate) fn reconnect(&mut self, name: &'static str) {
        let runs = self.executors[name].runs.clone();
        let running = runs
            .into_iter()
            .map(|(shard, generation)| Holding { shard, generation, stopping: false })
            .collect();
        self.hello(name, running);
    }

    pub(crate) fn hello(&mut self, name: &'static str, running: Vec<Holding>) -> SessionId {
        self.next_session += 1;
        let session = SessionId(self.next_session);
        let executor = self.executors.get_mut(name).unwrap();
        executor.id = session;
        executor.farewell = None;
        executor.beats = true;
        executor.next_beat = self.now + BEAT;
        let host = executor.host.clone();
        let attempt = self.next_session;
        let metadata = Arc::new(self.executors[name].metadata.clone());
        let executor = name.into();
        let prepares = self.executors[name].prepares;
        let hello = Hello { executor, host, metadata, attempt, running, prepares };
        self.namespace.hello(self.now, session, &hello);
        self.turn();
        session
    }

    /// A restart of the process under the same id.
    pub(crate) fn restart_process(&mut self, name: &'static str) {
        self.executors.get_mut(name).unwrap().runs.clear();
        self.reconnect(name);
    }

    /// It is never heard again, and neither runs nor knows anything.
    pub(crate) fn crash(&mut self, name: &'static str) {
        self.silence(name);
        self.executors.get_mut(name).unwrap().runs.clear();
    }

    /// It is not heard any more.
    pub(crate) fn silence(&mut self, name: &'static str) {
        self.executors.get_mut(name).unwrap().beats = false;
    }

    /// Its stream breaks.
    pub(crate) fn break_stream(&mut self, name: &'static str) {
        let executor = self.executors.get_mut(name).unwrap();
        executor.beats = false;
        self.namespace.session_closed(executor.id);
        self.turn();
    }

    pub(crate) fn say(&mut self, name: &'static str, event: SessionEvent) {
        let session = self.executors[name].id;
        self.say_on(session, event);
    }

    pub(crate) fn say_on(&mut self, session: SessionId, event: SessionEvent) {
        self.namespace.session_event(self.now, session, event);
        self.turn();
    }

    /// The shard has stopped here.
    pub(crate) fn confirm(&mut self, name: &'static str, shard: &str) {
        let generation = self.executors.get_mut(name).unwrap().runs.remove(shard).unwrap();
        let shard = shard.into();
        self.say(name, SessionEvent::Stopped { shard, generation, error: None, state: None });
    }

    pub(crate) fn slow(&mut self, name: &'static str) {
        self.executors.get_mut(name).unwrap().prompt = false;
    }

    /// Reports these loads with the next beat.
    pub(crate) fn load(&mut self, name: &'static str, loads: &[(&str, f64)]) {
        let executor = self.executors.get_mut(name).unwrap();
        executor.loads.extend(loads.iter().map(|(shard, load)| (Arc::from(*shard), *load)));
    }

    fn beat_all(&mut self) {
        let names: Vec<_> = self.executors.keys().copied().collect();
        for name in names {
            let now = self.now;
            let executor = self.executors.get_mut(name).unwrap();
            if !executor.beats || executor.next_beat > now {
                continue;
            }
            executor.next_beat = now + BEAT;
            executor.sequence += 1;
            let (sequence, loads) = (executor.sequence, std::mem::take(&mut executor.loads));
            self.say(
                name,
                SessionEvent::Beat { sequence, loads, costs: Vec::new(), metadata: None },
            );
        }
    }

    fn deliver(&mut self, session: SessionId, message: Tell) {
        self.told.push((session, message.clone()));
        let executor = self.executors.iter_mut().find(|(_, executor)| executor.id == session);
        let Some((name, executor)) = executor else { return };
        let name = *name;
        let now = self.now;
        match message {
            Tell::Welcome { grants, .. } => {
                let granted: BTreeSet<_> = grants.iter().map(|it| it.shard.clone()).collect();
                let mut gone: Vec<_> = executor.runs.keys().cloned().collect();
                gone.retain(|shard| !granted.contains(shard));
                let prompt = executor.prompt;
                executor.runs.extend(grants.iter().map(|it| (it.shard.clone(), it.generation)));
                let started = grants.into_iter().filter(|_| executor.starts).collect::<Vec<_>>();
                for Grant { shard, generation, .. } in started {
                    let event = SessionEvent::Started { shard, generation };
                    self.namespace.session_event(now, session, event);
                }
                for shard in gone.into_iter().filter(|_| prompt) {
                    self.stop(name, session, &shard, 0);
                }
            }
            Tell::Granted(Grant { shard, generation, .. }) => {
                self.expect_stored(name, &shard, generation);
                let executor = self.executors.get_mut(name).unwrap();
                let event = if executor.fails {
                    let error = Some("disk full".to_owned());
                    SessionEvent::Stopped { shard, generation, error, state: None }
                } else {
                    executor.runs.insert(shard.clone(), generation);
                    if !executor.starts {
                        return;
                    }
                    SessionEvent::Started { shard, generation }
                };
                self.namespace.session_event(now, session, event);
            }
            Tell::Revoked { shard, generation, .. } if executor.prompt => {
                self.stop(name, session, &shard, generation);
            }
            Tell::Farewell(farewell) => executor.farewell = Some(farewell),
            Tell::Revoked { .. } | Tell::BeatAck { .. } | Tell::Prepare(_) | Tell::Abandon(_) => {}
        }
    }

    /// What it does not run it confirms as it was told.
    fn stop(&mut self, name: &'static str, session: SessionId, shard: &Arc<str>, told: u64) {
        let ran = self.executors.get_mut(name).unwrap().runs.remove(shard);
        let generation = ran.unwrap_or(told);
        let event =
            SessionEvent::Stopped { shard: shard.clone(), generation, error: None, state: None };
        self.namespace.session_event(self.now, session, event);
    }

    fn expect_stored(&self, executor: &str, shard: &str, generation: u64) {
        let stored = self.store.grants.get(shard).map(|grant| (&*grant.executor, grant.generation));
        assert_eq!(
            stored,
            Some((executor, generation)),
            "{shard} was granted before it was stored"
        );
    }
}

// === impl World: unary executors, spectators and operators ===

impl World {
    /// A heartbeat with what is running, and its answer.
    pub(crate) fn heartbeat(&mut self, name: &str, running: &[&str]) -> HeartbeatAnswer {
        self.heartbeat_as(name, UnaryStatus::Active, running, None)
    }

    pub(crate) fn heartbeat_done(
        &mut self,
        name: &str,
        running: &[&str],
        done: &str,
    ) -> HeartbeatAnswer {
        self.heartbeat_as(name, UnaryStatus::Active, running, Some(done))
    }

    pub(crate) fn heartbeat_leaving(&mut self, name: &str) -> HeartbeatAnswer {
        self.heartbeat_as(name, UnaryStatus::Leaving, &[], None)
    }

    fn heartbeat_as(
        &mut self,
        name: &str,
        status: UnaryStatus,
        running: &[&str],
        done: Option<&str>,
    ) -> HeartbeatAnswer {
        let report = |shard: &&str| Report {
            shard: Arc::from(*shard),
            done: done == Some(*shard),
            load: 1.0,
        };
        let beat = Heartbeat {
            executor: name.into(),
            host: name.into(),
            status,
            wire_status: if status == UnaryStatus::Active { 1 } else { 2 },
            metadata: Default::default(),
            reports: running.iter().map(report).collect(),
        };
        self.namespace.heartbeat(self.now, &beat);
        self.namespace.settle(self.now);
        let mut answer = self.namespace.heartbeat_answer(&beat);
        self.turn();
        answer.ready.sort();
        answer.revoked.sort();
        answer
    }

    pub(crate) fn locate(&mut self, key: &str) -> RequestId {
        let request = self.request();
        self.namespace.locate(self.now, request, key);
        self.turn();
        request
    }

    pub(crate) fn answer(&self, request: RequestId) -> Option<&Outcome> {
        self.answers.get(&request)
    }

    /// Many questions that arrive together.
    pub(crate) fn locate_all(&mut self, keys: &[String]) {
        for key in keys {
            let request = self.request();
            self.namespace.locate(self.now, request, key);
        }
        self.turn();
    }

    /// Who the answer says owns the shard.
    pub(crate) fn located(&mut self, key: &str) -> String {
        let request = self.locate(key);
        match self.answer(request) {
            Some(Outcome::Owner { executor, .. }) => executor.to_string(),
            other => format!("{other:?}"),
        }
    }

    pub(crate) fn order(&mut self, order: Order) -> RequestId {
        let request = self.request();
        self.namespace.order(self.now, request, order);
        self.turn();
        request
    }

    pub(crate) fn drain_shards(&mut self, keys: &[&str]) -> RequestId {
        let keys = keys.iter().map(|key| Arc::from(*key)).collect();
        self.order(Order::DrainShards { keys, drain: drain() })
    }

    pub(crate) fn undrain_shards(&mut self, keys: &[&str]) -> RequestId {
        self.order(Order::UndrainShards { keys: keys.iter().map(|key| Arc::from(*key)).collect() })
    }

    pub(crate) fn drain_host(&mut self, host: &str) -> RequestId {
        self.order(Order::DrainHosts { hosts: vec![(host.into(), drain())] })
    }

    pub(crate) fn undrain_host(&mut self, host: &str) -> RequestId {
        self.order(Order::UndrainHosts { hosts: vec![host.into()] })
    }

    pub(crate) fn change(&mut self, entries: &[(&str, &str)]) {
        let mut settings: Settings = self.namespace.settings().clone();
        settings.set_all(entries.iter().copied()).unwrap();
        self.order(Order::ChangeSettings(Box::new(settings)));
    }

    fn request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }
}

pub(crate) fn drain() -> DrainRecord {
    DrainRecord { drained_at_ms: 1, drained_by: "ann".into(), reason: "disk".into() }
}

// === impl World: what is so ===

impl World {
    pub(crate) fn runs(&self, name: &str) -> Vec<&str> {
        self.executors[name].runs.keys().map(|shard| &**shard).collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.executors[name].runs.len()
    }

    pub(crate) fn generation(&self, shard: &str) -> u64 {
        self.namespace.explain(self.now, shard).unwrap().generation
    }

    pub(crate) fn phase(&self, shard: &str) -> &'static str {
        self.namespace.explain(self.now, shard).unwrap().phase
    }

    pub(crate) fn owner(&self, shard: &str) -> Option<String> {
        self.namespace.explain(self.now, shard)?.owner.map(|owner| owner.to_string())
    }

    pub(crate) fn happened(&self, what: What) -> usize {
        self.events.iter().filter(|event| event.what == what).count()
    }

    pub(crate) fn told_to(&self, name: &str) -> Vec<&Tell> {
        let session = self.executors[name].id;
        self.told.iter().filter(|(to, _)| *to == session).map(|(_, message)| message).collect()
    }

    pub(crate) fn conditions(&self) -> String {
        self.namespace.conditions(self.now).join("; ")
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.namespace.executor_of(name).is_some()
    }
}
