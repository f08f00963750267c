//! The shell around the real `Namespace` of one leader: as thin as the real one
//! should be. It does nothing without confidence that it still leads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::{Action, Farewell, Outcome, RouteChange, Tell};
use plimsoll_ownership::holder::Outgoing;
use plimsoll_ownership::ids::{RequestId, SessionId};
use plimsoll_ownership::namespace::{
    Heartbeat, HeartbeatAnswer, Hello, Holding, Namespace, SessionEvent,
};
use plimsoll_ownership::record::Write;
use plimsoll_placement::time::Time;

use crate::etcd::Ask;
use crate::network::StreamId;
use crate::operator::Asked;
use crate::world::{Happening, NAMESPACE, Routes, Said, World};

/// How long the store may take before it is asked again.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Term {
    /// Of all terms there ever were.
    pub(crate) number: u32,
    pub(crate) epoch: u64,
    pub(crate) namespace: Namespace,
    /// It is being handed over: nothing is done any more.
    pub(crate) silent: bool,
    pub(crate) asked: BTreeMap<RequestId, Asked>,
    pub(crate) routes: Routes,
    /// What the last hello said that it runs.
    pub(crate) claimed: Vec<Arc<str>>,
    in_flight: Option<Flight>,
    batches: u64,
    sessions: BTreeMap<SessionId, StreamId>,
    last_session: u64,
    last_request: u64,
    timer_at: Time,
}

/// A batch on its way to the store.
#[derive(Debug)]
struct Flight {
    number: u64,
    batch: Vec<Write>,
    /// By the machine's clock.
    since: Time,
}

impl Term {
    pub(crate) fn new(number: u32, epoch: u64, namespace: Namespace) -> Self {
        let routes = namespace.routes().map(|(s, e, g)| (s.clone(), (e.clone(), g))).collect();
        Self {
            number,
            epoch,
            namespace,
            silent: false,
            asked: BTreeMap::new(),
            routes,
            claimed: Vec::new(),
            in_flight: None,
            batches: 0,
            sessions: BTreeMap::new(),
            last_session: 0,
            last_request: 0,
            timer_at: Time::MAX,
        }
    }

    pub(crate) fn waits_for(&self, batch: u64) -> bool {
        self.in_flight.as_ref().is_some_and(|flight| flight.number == batch)
    }

    pub(crate) fn is_stuck(&self, local: Time, limit: Duration) -> bool {
        self.in_flight.as_ref().is_some_and(|flight| local - flight.since >= limit)
    }
}

// === impl World: terms ===

impl World {
    pub(crate) fn local(&self, machine: usize) -> Time {
        self.machines[machine].clock.at(self.now)
    }

    pub(crate) fn machine_of(&self, term: u32) -> Option<usize> {
        self.machines.iter().position(|it| it.term.as_ref().is_some_and(|it| it.number == term))
    }

    /// Another leader has been elected, and this one may not know it.
    pub(crate) fn was_replaced(&self, number: usize) -> bool {
        let term = self.machines[number].term.as_ref();
        term.is_some_and(|term| term.epoch < self.etcd.epoch)
    }

    /// Whether it may act as the leader at this moment.
    pub(crate) fn is_in_force(&self, number: usize) -> bool {
        let machine = &self.machines[number];
        let (Some(term), Some(leadership)) = (&machine.term, &machine.leadership) else {
            return false;
        };
        let until = leadership.confident_until(NAMESPACE);
        let confident = until.is_some_and(|until| self.local(number) < until);
        !term.silent && (confident || !self.traits.durable)
    }

    /// The machine whose term was elected last, if it may act.
    pub(crate) fn acting(&self) -> Option<usize> {
        let elected = |it: &crate::machine::Machine| {
            it.term.as_ref().is_some_and(|term| term.epoch == self.etcd.epoch)
        };
        let machine = self.machines.iter().position(elected)?;
        self.is_in_force(machine).then_some(machine)
    }

    pub(crate) fn namespace(&self) -> Option<&Namespace> {
        self.machines[self.acting()?].term.as_ref().map(|term| &term.namespace)
    }

    /// The leader that a client finds behind this machine: any server takes clients
    /// to the leader.
    pub(crate) fn term_behind(&self, number: usize) -> Option<u32> {
        let machine = &self.machines[number];
        let own = machine.term.as_ref().filter(|_| machine.is_up());
        let other = || self.machines[self.acting()?].term.as_ref();
        own.or_else(|| machine.is_up().then(other).flatten()).map(|term| term.number)
    }

    /// It gives up in good order.
    pub(crate) fn end_term(&mut self, number: usize) {
        let Some(term) = &mut self.machines[number].term else { return };
        term.namespace.close(Farewell::ServerLeaving);
        self.dispatch(number);
        self.forget_term(number);
    }

    /// It is no more. What it had on its way to the store may arrive.
    pub(crate) fn forget_term(&mut self, number: usize) {
        let Some(term) = self.machines[number].term.take() else { return };
        self.tell(|| format!("term {} is over", term.number));
        if term.asked.values().any(|asked| !matches!(asked, Asked::Locate { .. })) {
            self.operator.server_crashed();
        }
        for stream in self.network.live(term.number) {
            self.close_down(stream);
        }
    }

    pub(crate) fn term_timer(&mut self, number: usize, term: u32) {
        let due = |it: &Term| it.number == term;
        if !self.machines[number].term.as_ref().is_some_and(due) || !self.is_in_force(number) {
            return;
        }
        let local = self.local(number);
        let Some(term) = &mut self.machines[number].term else { return };
        if term.timer_at <= local {
            term.timer_at = Time::MAX;
            self.turn(number);
        }
    }

    pub(crate) fn batch_held(&mut self, number: usize, epoch: u64, batch: u64) {
        if !self.is_in_force(number) {
            return;
        }
        let local = self.local(number);
        let Some(term) = &mut self.machines[number].term else { return };
        let arrived = |flight: &mut Flight| flight.number == batch;
        if term.epoch != epoch || term.in_flight.take_if(arrived).is_none() {
            return;
        }
        term.namespace.committed(local);
        self.turn(number);
    }

    pub(crate) fn store_is_slow(&mut self, number: usize, term: u32, batch: u64) {
        let Some(it) = self.machines[number].term.as_ref().filter(|it| it.number == term) else {
            return;
        };
        let Some(flight) = it.in_flight.as_ref().filter(|flight| flight.number == batch) else {
            return;
        };
        let ask = Ask::Commit { epoch: it.epoch, number: batch, batch: flight.batch.clone() };
        self.ask_store(number, ask);
        self.after(RETRY, Happening::StoreIsSlow { machine: number, term, batch });
    }

    /// One event, then what a shell does after it.
    pub(crate) fn with_namespace<R>(
        &mut self,
        number: usize,
        f: impl FnOnce(&mut Namespace, Time) -> R,
    ) -> Option<R> {
        if !self.is_in_force(number) {
            return None;
        }
        let local = self.local(number);
        let result = f(&mut self.machines[number].term.as_mut()?.namespace, local);
        self.turn(number);
        Some(result)
    }

    pub(crate) fn turn(&mut self, number: usize) {
        let local = self.local(number);
        let Some(term) = &mut self.machines[number].term else { return };
        let namespace = &mut term.namespace;
        if namespace.poll_timeout() <= local {
            namespace.handle_timeout(local);
            assert!(namespace.poll_timeout() > local, "the timer is due again at once");
        }
        namespace.settle(local);
        self.check_tables(number);
        self.dispatch(number);
        self.begin_commit(number);
        self.arm_term_timer(number);
    }

    fn begin_commit(&mut self, number: usize) {
        let local = self.local(number);
        let Some(term) = &mut self.machines[number].term else { return };
        let Some(batch) = term.namespace.take_commit() else { return };
        assert!(term.in_flight.is_none(), "two batches are on their way at once");
        term.batches += 1;
        let (epoch, batches) = (term.epoch, term.batches);
        term.in_flight = Some(Flight { number: batches, batch: batch.clone(), since: local });
        let term = term.number;
        self.tell(|| format!("  to store: {batch:?}"));
        self.ask_store(number, Ask::Commit { epoch, number: batches, batch });
        self.after(RETRY, Happening::StoreIsSlow { machine: number, term, batch: batches });
    }

    fn arm_term_timer(&mut self, number: usize) {
        let Some(term) = &mut self.machines[number].term else { return };
        let due = term.namespace.poll_timeout();
        if due < term.timer_at {
            term.timer_at = due;
            let term = term.number;
            let at = self.machines[number].clock.when(due);
            self.at(at, Happening::TermTimer { machine: number, term });
        }
    }
}

// === impl World: what a leader does ===

impl World {
    fn dispatch(&mut self, number: usize) {
        while let Some(action) = self.next_action_of(number) {
            match action {
                Action::Tell { session, message } => self.tell_session(number, session, message),
                Action::Route(change) => self.route(number, change),
                Action::Answer { request, outcome } => self.answered(number, request, &outcome),
                Action::Record(event) => self.tell(|| {
                    let (shard, executor) = (event.shard.as_deref(), event.executor.as_deref());
                    let (what, generation) = (event.what, event.generation);
                    format!("  {what:?} {shard:?} {executor:?} {generation} {}", event.detail)
                }),
            }
        }
    }

    fn next_action_of(&mut self, number: usize) -> Option<Action> {
        self.machines[number].term.as_mut()?.namespace.poll_action()
    }

    fn tell_session(&mut self, number: usize, session: SessionId, message: Tell) {
        self.check_stored(number, session, &message);
        let Some(term) = &mut self.machines[number].term else { return };
        let Some(stream) = term.sessions.get(&session).copied() else { return };
        let last = matches!(message, Tell::Farewell(_));
        if last {
            term.sessions.remove(&session);
        }
        if !matches!(message, Tell::BeatAck { .. }) {
            self.tell(|| format!("  to {session:?}: {message:?}"));
        }
        self.send_down(stream, message);
        if last {
            self.close_down(stream);
        }
    }

    fn route(&mut self, number: usize, change: RouteChange) {
        let Some(term) = &mut self.machines[number].term else { return };
        match change {
            RouteChange::Owned { shard, executor, generation } => {
                term.routes.insert(shard, (executor, generation));
            }
            RouteChange::Unowned { shard } => drop(term.routes.remove(&shard)),
            RouteChange::Executor { .. }
            | RouteChange::ExecutorGone { .. }
            | RouteChange::Drained { .. }
            | RouteChange::Undrained { .. } => {}
        }
    }

    fn answered(&mut self, number: usize, request: RequestId, outcome: &Outcome) {
        let Some(term) = &mut self.machines[number].term else { return };
        let Some(asked) = term.asked.remove(&request) else {
            panic!("{request:?} was answered twice, or never asked");
        };
        self.tell(|| format!("  answer to {asked:?}: {outcome:?}"));
        self.settle_answer(number, asked, outcome);
    }

    /// Asks a leader something that it will answer.
    pub(crate) fn question(
        &mut self,
        number: usize,
        asked: Asked,
        f: impl FnOnce(&mut Namespace, Time, RequestId),
    ) {
        let Some(term) = &mut self.machines[number].term else { return };
        term.last_request += 1;
        let request = RequestId(term.last_request);
        term.asked.insert(request, asked);
        self.with_namespace(number, |namespace, now| f(namespace, now, request));
    }

    /// The executor that has this session, if it still has.
    pub(crate) fn executor_in(&mut self, number: usize, session: SessionId) -> Option<Arc<str>> {
        let stream = self.machines[number].term.as_ref()?.sessions.get(&session).copied()?;
        let life = self.network.get(stream).life;
        Some(self.processes[self.network.process_of(stream)].id_of(life))
    }
}

// === impl World: what a leader hears ===

impl World {
    pub(crate) fn said(&mut self, stream: StreamId, said: Said) {
        let Some(number) = self.who_hears(stream) else { return };
        if !matches!(said, Said::Beat { .. }) {
            let process = self.network.process_of(stream);
            self.tell(|| format!("machine {number} hears from process {process}: {said:?}"));
        }
        match said {
            Said::Hello { attempt, running, prepares } => {
                self.hello(number, stream, attempt, running, prepares);
            }
            Said::Beat { sequence, loads } => {
                let (costs, metadata) = (Vec::new(), None);
                let beat = SessionEvent::Beat { sequence, loads, costs, metadata };
                self.event(number, stream, beat);
            }
            Said::Other(outgoing) => self.event(number, stream, as_event(outgoing)),
        }
    }

    fn hello(
        &mut self,
        number: usize,
        stream: StreamId,
        attempt: u64,
        running: Vec<Holding>,
        prepares: bool,
    ) {
        let Some(term) = &mut self.machines[number].term else { return };
        term.last_session += 1;
        let session = SessionId(term.last_session);
        term.sessions.insert(session, stream);
        term.claimed = running.iter().map(|holding| holding.shard.clone()).collect();
        self.network.get(stream).session = Some(session);
        let life = self.network.get(stream).life;
        let process = &self.processes[self.network.process_of(stream)];
        let executor = process.id_of(life);
        let (host, metadata) = (process.host.clone(), Arc::default());
        let hello = Hello { executor, host, metadata, attempt, running, prepares };
        self.with_namespace(number, |namespace, now| namespace.hello(now, session, &hello));
    }

    fn event(&mut self, number: usize, stream: StreamId, event: SessionEvent) {
        let Some(session) = self.network.get(stream).session else { return };
        self.with_namespace(number, |namespace, now| namespace.session_event(now, session, event));
    }

    pub(crate) fn end_seen_by_server(&mut self, stream: StreamId) {
        let server = self.network.get(stream).server;
        self.network.get(stream).over = true;
        let Some(number) = self.machine_of(server) else { return };
        let Some(session) = self.network.get(stream).session else { return };
        let Some(term) = &mut self.machines[number].term else { return };
        term.sessions.remove(&session);
        self.with_namespace(number, |namespace, _| namespace.session_closed(session));
    }

    /// A heartbeat and its answer; `None` if nobody is there who may answer.
    pub(crate) fn serve_beat(&mut self, term: u32, beat: &Heartbeat) -> Option<HeartbeatAnswer> {
        let number = self.machine_of(term).filter(|number| self.is_in_force(*number))?;
        let local = self.local(number);
        let namespace = &mut self.machines[number].term.as_mut()?.namespace;
        namespace.heartbeat(local, beat);
        if namespace.poll_timeout() <= local {
            namespace.handle_timeout(local);
        }
        namespace.settle(local);
        let answer = namespace.heartbeat_answer(beat);
        self.check_answer(number, beat, &answer);
        self.turn(number);
        Some(answer)
    }
}

fn as_event(outgoing: Outgoing) -> SessionEvent {
    match outgoing {
        Outgoing::Started { shard, generation } => SessionEvent::Started { shard, generation },
        Outgoing::Stopped { shard, generation, error, state } => {
            SessionEvent::Stopped { shard, generation, error, state }
        }
        Outgoing::Prepared { shard, generation, error } => {
            SessionEvent::Prepared { shard, generation, error }
        }
        Outgoing::Done { shard, generation } => SessionEvent::Done { shard, generation },
        Outgoing::Leaving => SessionEvent::Leaving,
        Outgoing::Goodbye { returning } => SessionEvent::Goodbye { returning },
        Outgoing::Hello { .. } | Outgoing::Beat { .. } => {
            unreachable!("these travel as themselves")
        }
    }
}
