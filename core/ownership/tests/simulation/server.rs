//! The shell around the real `Namespace`: as thin as the real one should be.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_ownership::action::{Action, Farewell, Outcome, RouteChange, Tell};
use plimsoll_ownership::holder::Outgoing;
use plimsoll_ownership::ids::{RequestId, SessionId};
use plimsoll_ownership::namespace::{
    Heartbeat, HeartbeatAnswer, Hello, Namespace, Origin, SessionEvent,
};
use plimsoll_ownership::record::{NamespaceRecord, Write};
use plimsoll_placement::time::Time;

use crate::network::StreamId;
use crate::operator::Asked;
use crate::store::Store;
use crate::world::{EPOCH_MS, Happening, Routes, Said, World};

#[derive(Debug, Default)]
pub(crate) struct Server {
    /// Of its process.
    pub(crate) number: u32,
    pub(crate) namespace: Option<Namespace>,
    pub(crate) still_until: Time,
    pub(crate) asked: BTreeMap<RequestId, Asked>,
    pub(crate) routes: Routes,
    /// What the last hello said that it runs.
    pub(crate) claimed: Vec<Arc<str>>,
    /// The record that a server that forgets starts from.
    first: Option<NamespaceRecord>,
    in_flight: Option<Vec<Write>>,
    sessions: BTreeMap<SessionId, StreamId>,
    last_session: u64,
    last_request: u64,
    timer_at: Time,
}

impl Server {
    pub(crate) fn is_up(&self) -> bool {
        self.namespace.is_some()
    }
}

// === impl World: the server's life ===

impl World {
    pub(crate) fn start_server(&mut self) {
        if self.server.is_up() {
            return;
        }
        let first = self.server.first.get_or_insert_with(|| self.store.record.clone()).clone();
        if !self.traits.durable {
            self.store = Store::new(first);
            self.excuse_the_starting();
        }
        let origin = match (self.traits.durable, self.server.number) {
            (false, _) => Origin::Forgetful,
            (true, 0) => Origin::New,
            (true, _) => Origin::Durable,
        };
        self.server.number += 1;
        let number = self.server.number;
        self.tell(|| format!("server {number} starts, {origin:?}"));
        let stored = self.store.stored();
        let namespace =
            Namespace::new(self.now, EPOCH_MS, &self.store.record, stored, origin).unwrap();
        self.server.routes =
            namespace.routes().map(|(s, e, g)| (s.clone(), (e.clone(), g))).collect();
        self.server.namespace = Some(namespace);
        self.server.timer_at = Time::MAX;
        self.turn();
    }

    /// Kill -9. The batch on its way may have reached the store.
    pub(crate) fn crash_server(&mut self) {
        if self.server.namespace.take().is_none() {
            return;
        }
        let stored = self.chance.percent(50);
        self.tell(|| format!("the server crashes, its last batch stored: {stored}"));
        if let Some(batch) = self.server.in_flight.take().filter(|_| stored) {
            self.store.apply(&batch);
        }
        self.server.sessions.clear();
        self.server.asked.clear();
        self.server.still_until = self.now;
        self.operator.server_crashed();
        for stream in self.network.live(self.server.number) {
            self.close_down(stream);
        }
        let wait = match self.chance.percent(60) {
            true => self.chance.millis(10, 1_000),
            false => self.chance.millis(1_000, 8_000),
        };
        self.after(wait, Happening::ServerStarts);
    }

    pub(crate) fn server_timer(&mut self, server: u32) {
        if server == self.server.number && self.server.is_up() && self.server.timer_at <= self.now {
            self.server.timer_at = Time::MAX;
            self.turn();
        }
    }

    pub(crate) fn batch_committed(&mut self, server: u32) {
        if server != self.server.number || !self.server.is_up() {
            return;
        }
        let Some(batch) = self.server.in_flight.take() else { return };
        self.tell(|| format!("stored: {batch:?}"));
        self.store.apply(&batch);
        let now = self.now;
        self.with_namespace(|namespace| namespace.committed(now));
    }

    /// One event, then what a shell does after it.
    pub(crate) fn with_namespace<R>(&mut self, f: impl FnOnce(&mut Namespace) -> R) -> Option<R> {
        let result = f(self.server.namespace.as_mut()?);
        self.turn();
        Some(result)
    }

    fn turn(&mut self) {
        let now = self.now;
        let Some(namespace) = &mut self.server.namespace else { return };
        if namespace.poll_timeout() <= now {
            namespace.handle_timeout(now);
            assert!(namespace.poll_timeout() > now, "the timer is due again at once");
        }
        namespace.settle(now);
        self.check_tables();
        self.dispatch();
        self.begin_commit();
        self.arm_server_timer();
    }

    fn begin_commit(&mut self) {
        let Some(namespace) = &mut self.server.namespace else { return };
        let Some(batch) = namespace.take_commit() else { return };
        assert!(self.server.in_flight.is_none(), "two batches are on their way at once");
        self.server.in_flight = Some(batch);
        let wait = match self.chance.below(100) {
            0..2 if self.trouble => self.chance.millis(100, 2_000),
            0..50 => self.chance.micros(100, 1_000),
            _ => self.chance.micros(1_000, 15_000),
        };
        let server = self.server.number;
        self.after(wait, Happening::Committed { server });
    }

    fn arm_server_timer(&mut self) {
        let Some(namespace) = &self.server.namespace else { return };
        let due = namespace.poll_timeout();
        if due < self.server.timer_at {
            self.server.timer_at = due;
            let server = self.server.number;
            self.at(due, Happening::ServerTimer { server });
        }
    }
}

// === impl World: what the server does ===

impl World {
    fn dispatch(&mut self) {
        while let Some(action) = self.server.namespace.as_mut().and_then(Namespace::poll_action) {
            match action {
                Action::Tell { session, message } => self.tell_session(session, message),
                Action::Route(change) => self.route(change),
                Action::Answer { request, outcome } => self.answered(request, &outcome),
                Action::Record(event) => self.tell(|| {
                    let (shard, executor) = (event.shard.as_deref(), event.executor.as_deref());
                    let (what, generation) = (event.what, event.generation);
                    format!("  {what:?} {shard:?} {executor:?} {generation} {}", event.detail)
                }),
            }
        }
    }

    fn tell_session(&mut self, session: SessionId, message: Tell) {
        self.check_stored(session, &message);
        let Some(stream) = self.server.sessions.get(&session).copied() else { return };
        if !matches!(message, Tell::BeatAck { .. }) {
            self.tell(|| format!("  to {session:?}: {message:?}"));
        }
        let last = matches!(message, Tell::Farewell(_));
        self.send_down(stream, message);
        if last {
            self.server.sessions.remove(&session);
            self.close_down(stream);
        }
    }

    fn route(&mut self, change: RouteChange) {
        match change {
            RouteChange::Owned { shard, executor, generation } => {
                self.server.routes.insert(shard, (executor, generation));
            }
            RouteChange::Unowned { shard } => drop(self.server.routes.remove(&shard)),
            RouteChange::Executor { .. }
            | RouteChange::ExecutorGone { .. }
            | RouteChange::Drained { .. }
            | RouteChange::Undrained { .. } => {}
        }
    }

    fn answered(&mut self, request: RequestId, outcome: &Outcome) {
        let Some(asked) = self.server.asked.remove(&request) else {
            panic!("{request:?} was answered twice, or never asked");
        };
        self.tell(|| format!("  answer to {asked:?}: {outcome:?}"));
        self.settle_answer(asked, outcome);
    }

    pub(crate) fn next_request(&mut self) -> RequestId {
        self.server.last_request += 1;
        RequestId(self.server.last_request)
    }

    /// The executor that has this session, if it still has.
    pub(crate) fn executor_in(&mut self, session: SessionId) -> Option<Arc<str>> {
        let stream = self.server.sessions.get(&session).copied()?;
        let life = self.network.get(stream).life;
        Some(self.processes[self.network.process_of(stream)].id_of(life))
    }
}

// === impl World: what the server hears ===

impl World {
    pub(crate) fn said(&mut self, stream: StreamId, said: Said) {
        if !self.is_heard(stream) {
            return;
        }
        if !matches!(said, Said::Beat { .. }) {
            let number = self.network.process_of(stream);
            self.tell(|| format!("heard from process {number}: {said:?}"));
        }
        match said {
            Said::Hello { attempt, running } => self.hello(stream, attempt, running),
            Said::Beat { sequence, loads } => {
                self.event(
                    stream,
                    SessionEvent::Beat { sequence, loads, costs: Vec::new(), metadata: None },
                );
            }
            Said::Other(outgoing) => self.event(stream, as_event(outgoing)),
        }
    }

    fn hello(
        &mut self,
        stream: StreamId,
        attempt: u64,
        running: Vec<plimsoll_ownership::namespace::Holding>,
    ) {
        self.server.last_session += 1;
        let session = SessionId(self.server.last_session);
        self.server.sessions.insert(session, stream);
        self.network.get(stream).session = Some(session);
        let life = self.network.get(stream).life;
        let process = &self.processes[self.network.process_of(stream)];
        let executor = process.id_of(life);
        let (host, metadata) = (process.host.clone(), Arc::default());
        self.server.claimed = running.iter().map(|holding| holding.shard.clone()).collect();
        let hello = Hello { executor, host, metadata, attempt, running };
        let now = self.now;
        self.with_namespace(|namespace| namespace.hello(now, session, &hello));
    }

    fn event(&mut self, stream: StreamId, event: SessionEvent) {
        let Some(session) = self.network.get(stream).session else { return };
        let now = self.now;
        self.with_namespace(|namespace| namespace.session_event(now, session, event));
    }

    pub(crate) fn end_seen_by_server(&mut self, stream: StreamId) {
        if self.network.get(stream).server != self.server.number {
            return;
        }
        self.network.get(stream).over = true;
        let Some(session) = self.network.get(stream).session else { return };
        self.server.sessions.remove(&session);
        self.with_namespace(|namespace| namespace.session_closed(session));
    }

    /// A heartbeat and its answer; `None` if there is no server.
    pub(crate) fn serve_beat(&mut self, beat: &Heartbeat) -> Option<HeartbeatAnswer> {
        let now = self.now;
        let namespace = self.server.namespace.as_mut()?;
        namespace.heartbeat(now, beat);
        if namespace.poll_timeout() <= now {
            namespace.handle_timeout(now);
        }
        namespace.settle(now);
        let answer = namespace.heartbeat_answer(beat);
        self.check_answer(beat, &answer);
        self.turn();
        Some(answer)
    }

    /// The server leaves politely: a new one takes over.
    pub(crate) fn hand_over(&mut self) {
        let Some(namespace) = &mut self.server.namespace else { return };
        namespace.close(Farewell::ServerLeaving);
        self.dispatch();
        self.crash_server();
    }
}

fn as_event(outgoing: Outgoing) -> SessionEvent {
    match outgoing {
        Outgoing::Started { shard, generation } => SessionEvent::Started { shard, generation },
        Outgoing::Stopped { shard, generation, error } => {
            SessionEvent::Stopped { shard, generation, error }
        }
        Outgoing::Done { shard, generation } => SessionEvent::Done { shard, generation },
        Outgoing::Leaving => SessionEvent::Leaving,
        Outgoing::Goodbye => SessionEvent::Goodbye,
        Outgoing::Hello { .. } | Outgoing::Beat { .. } => {
            unreachable!("these travel as themselves")
        }
    }
}
