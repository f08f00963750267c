//! Carries the machine's actions to those they are for, in order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use plimsoll_ownership::action::{Action, Outcome, Tell};
use plimsoll_ownership::event::{Event, What};
use plimsoll_ownership::ids::{RequestId, SessionId};
use plimsoll_ownership::namespace::Namespace;
use plimsoll_placement::time::Time;
use tokio::sync::oneshot;

use super::{SessionStream, Surroundings};
use crate::board::{Board, Writer};
use crate::history::History;

/// Who waits for what.
#[derive(Debug, Default)]
pub(super) struct Dispatcher {
    sessions: HashMap<SessionId, SessionStream>,
    requests: HashMap<RequestId, oneshot::Sender<Outcome>>,
}

impl Dispatcher {
    pub(super) fn open(&mut self, session: SessionId, stream: SessionStream) {
        self.sessions.insert(session, stream);
    }

    pub(super) fn close(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    pub(super) fn expect(&mut self, request: RequestId, answer: oneshot::Sender<Outcome>) {
        self.requests.insert(request, answer);
    }

    /// Forgets requests whose callers have gone.
    pub(super) fn sweep(&mut self, namespace: &mut Namespace) {
        let mut gone = BTreeSet::new();
        self.requests.retain(|request, answer| {
            if answer.is_closed() {
                gone.insert(*request);
            }
            !answer.is_closed()
        });
        if !gone.is_empty() {
            namespace.forget_requests(&gone);
        }
    }

    /// Carries out every action there is. The map changes before anybody is
    /// answered or told, so that whoever hears of a change can look it up.
    pub(super) fn dispatch(
        &mut self,
        now: Time,
        namespace: &mut Namespace,
        (board, writer): (&Board, Writer),
        history: &History,
        around: &Surroundings,
    ) {
        let (mut routes, mut told, mut answers) = (Vec::new(), BTreeMap::new(), Vec::new());
        while let Some(action) = namespace.poll_action() {
            match action {
                Action::Route(change) => routes.push(change),
                Action::Tell { session, message } => {
                    told.entry(session).or_insert_with(Vec::new).push(message);
                }
                Action::Answer { request, outcome } => answers.push((request, outcome)),
                Action::Record(event) => record(namespace.name(), event, history, around),
            }
        }
        if !routes.is_empty()
            && let Err(error) = board.publish(writer, now, routes)
        {
            tracing::error!(namespace = %namespace.name(), %error, "a change of the map is not shown");
        }
        for (session, messages) in told {
            self.tell(session, messages, namespace);
        }
        for (request, outcome) in answers {
            self.answer(request, outcome);
        }
    }

    /// Tells every session that it is over, and drops everything else.
    pub(super) fn farewell(&mut self, namespace: &mut Namespace) {
        while let Some(action) = namespace.poll_action() {
            if let Action::Tell { session, message: message @ Tell::Farewell(_) } = action
                && let Some(stream) = self.sessions.remove(&session)
            {
                // One that does not read finds its stream ended.
                let _ = stream.try_send(vec![message]);
            }
        }
    }

    /// A session that does not take what it is told is cut: it will say hello
    /// again and hear everything then.
    fn tell(&mut self, session: SessionId, messages: Vec<Tell>, namespace: &mut Namespace) {
        let last = messages.iter().any(|message| matches!(message, Tell::Farewell(_)));
        let taken = self.sessions.get(&session).is_some_and(|s| s.try_send(messages).is_ok());
        if last || !taken {
            self.sessions.remove(&session);
        }
        if !taken {
            namespace.session_closed(session);
        }
    }

    fn answer(&mut self, request: RequestId, outcome: Outcome) {
        if let Some(waiting) = self.requests.remove(&request) {
            // The caller may have gone: then nobody wants the answer.
            drop(waiting.send(outcome));
        }
    }
}

fn record(namespace: &Arc<str>, event: Event, history: &History, around: &Surroundings) {
    around.metrics.count(event.what);
    log(namespace, &event);
    history.push(event);
}

/// What an operator should see at night is logged louder than daily work.
fn log(namespace: &Arc<str>, event: &Event) {
    let (shard, executor) = (event.shard.as_deref(), event.executor.as_deref());
    let (what, generation, detail) = (event.what.as_str(), event.generation, &*event.detail);
    match event.what {
        What::Expired | What::Quarantined | What::MassFailure | What::Stalled | What::Failed => {
            tracing::warn!(%namespace, shard, executor, generation, detail, "{what}");
        }
        What::Granted | What::Revoked | What::Stopped | What::Adopted | What::Done => {
            tracing::debug!(%namespace, shard, executor, generation, detail, "{what}");
        }
        _ => tracing::info!(%namespace, shard, executor, detail, "{what}"),
    }
}
