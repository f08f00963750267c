//! What a driver can be asked, and how it answers.

use std::sync::Arc;

use plimsoll_ownership::action::{Farewell, Outcome, Tell};
use plimsoll_ownership::ids::SessionId;
use plimsoll_ownership::namespace::{
    Heartbeat, HeartbeatAnswer, Hello, Namespace, Order, SessionEvent,
};
use plimsoll_placement::time::Time;
use tokio::sync::{mpsc, oneshot};

use super::{Driver, HandOut, Last};

/// Where what is told to a session goes. A session that does not read is cut.
pub type SessionStream = mpsc::Sender<Vec<Tell>>;

/// A closure that reads the machine and answers by itself.
type Reading = Box<dyn FnOnce(Time, &Namespace) + Send>;

/// What a driver can be asked.
pub enum Command {
    Hello { session: SessionId, hello: Hello, stream: SessionStream },
    Session { session: SessionId, event: SessionEvent },
    SessionClosed { session: SessionId },
    Heartbeat { beat: Heartbeat, answer: oneshot::Sender<HeartbeatAnswer> },
    RefusedHeartbeat { executor: Arc<str> },
    Locate { key: Arc<str>, answer: oneshot::Sender<Outcome> },
    Order { order: Order, why: String, answer: oneshot::Sender<Outcome> },
    Read(Reading),
    Close(Farewell),
    HandOut(oneshot::Sender<HandOut>),
}

/// What is left to do once the batch is settled.
pub(super) enum Pending {
    Heartbeat { beat: Heartbeat, answer: oneshot::Sender<HeartbeatAnswer> },
    Read(Reading),
    Last(Last),
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hello { .. } => "Hello",
            Self::Session { .. } => "Session",
            Self::SessionClosed { .. } => "SessionClosed",
            Self::Heartbeat { .. } => "Heartbeat",
            Self::RefusedHeartbeat { .. } => "RefusedHeartbeat",
            Self::Locate { .. } => "Locate",
            Self::Order { .. } => "Order",
            Self::Read(_) => "Read",
            Self::Close(_) => "Close",
            Self::HandOut(_) => "HandOut",
        })
    }
}

impl Pending {
    /// Gives the answer, now that everything of the batch is settled.
    pub(super) fn give(self, now: Time, namespace: &mut Namespace) {
        match self {
            Self::Heartbeat { beat, answer } => {
                // A caller that is gone has not been told.
                if !answer.is_closed() {
                    drop(answer.send(namespace.heartbeat_answer(&beat)));
                }
            }
            Self::Read(read) => read(now, namespace),
            Self::Last(_) => {}
        }
    }
}

impl Driver {
    pub(super) fn take(&mut self, now: Time, command: Command) -> Option<Pending> {
        match command {
            Command::Hello { session, hello, stream } => {
                self.dispatcher.open(session, stream);
                self.namespace.hello(now, session, &hello);
            }
            Command::Session { session, event } => {
                self.namespace.session_event(now, session, event);
            }
            Command::SessionClosed { session } => {
                self.dispatcher.close(session);
                self.namespace.session_closed(session);
            }
            Command::Heartbeat { beat, answer } => {
                self.namespace.heartbeat(now, &beat);
                return Some(Pending::Heartbeat { beat, answer });
            }
            Command::RefusedHeartbeat { executor } => {
                self.namespace.refused_heartbeat(now, &executor);
            }
            Command::Locate { key, answer } => self.locate(now, &key, answer),
            Command::Order { order, why, answer } => self.order(now, order, &why, answer),
            Command::Read(read) => return Some(Pending::Read(read)),
            Command::Close(farewell) => return Some(Pending::Last(Last::Farewell(farewell))),
            Command::HandOut(to) => return Some(Pending::Last(Last::HandOut(to))),
        }
        None
    }

    fn locate(&mut self, now: Time, key: &str, answer: oneshot::Sender<Outcome>) {
        if answer.is_closed() {
            return;
        }
        let request = self.next_request();
        self.dispatcher.expect(request, answer);
        self.namespace.locate(now, request, key);
    }

    fn order(&mut self, now: Time, order: Order, why: &str, answer: oneshot::Sender<Outcome>) {
        let request = self.next_request();
        self.dispatcher.expect(request, answer);
        self.namespace.order_because(now, request, order, why);
    }
}
