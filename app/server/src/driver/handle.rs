//! A cheap way to a driver, for everybody who serves requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_ownership::action::{Farewell, Outcome};
use plimsoll_ownership::ids::SessionId;
use plimsoll_ownership::namespace::{
    Heartbeat, HeartbeatAnswer, Hello, Namespace, Order, SessionEvent,
};
use plimsoll_ownership::record::Kind;
use plimsoll_placement::time::Time;
use tokio::sync::{mpsc, oneshot};

use super::{Command, HandOut, Pacing, SessionStream};
use crate::board::Board;
use crate::clock::Clock;
use crate::history::History;

/// The driver has ended: the namespace was deleted or the server goes down.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the namespace is not led by this server any more")]
pub struct Gone;

/// A way to the driver of one namespace.
#[derive(Debug)]
pub struct NamespaceHandle {
    pub name: Arc<str>,
    pub kind: Kind,
    pub clock: Clock,
    pub board: Arc<Board>,
    pub history: Arc<History>,
    /// Held by whoever changes settings from what they are.
    pub settings_turn: tokio::sync::Mutex<()>,
    /// How fast executors are let in.
    pub pacing: Pacing,
    commands: mpsc::Sender<Command>,
    sessions: AtomicU64,
}

impl NamespaceHandle {
    pub(super) fn new(
        name: Arc<str>,
        kind: Kind,
        clock: Clock,
        board: Arc<Board>,
        history: Arc<History>,
        commands: mpsc::Sender<Command>,
        pacing: Pacing,
    ) -> Self {
        Self {
            name,
            kind,
            clock,
            board,
            history,
            pacing,
            commands,
            sessions: AtomicU64::new(0),
            settings_turn: tokio::sync::Mutex::default(),
        }
    }

    /// Begins a session; what it is told comes out of `stream`.
    pub async fn hello(&self, hello: Hello, stream: SessionStream) -> Result<SessionId, Gone> {
        let session = SessionId(self.sessions.fetch_add(1, Ordering::Relaxed) + 1);
        self.send(Command::Hello { session, hello, stream }).await?;
        Ok(session)
    }

    /// A message on a session.
    pub async fn session_event(&self, session: SessionId, event: SessionEvent) -> Result<(), Gone> {
        self.send(Command::Session { session, event }).await
    }

    /// The stream of a session has ended.
    pub async fn session_closed(&self, session: SessionId) -> Result<(), Gone> {
        self.send(Command::SessionClosed { session }).await
    }

    /// A unary heartbeat and what to tell its executor.
    pub async fn heartbeat(&self, beat: Heartbeat) -> Result<HeartbeatAnswer, Gone> {
        self.ask(|answer| Command::Heartbeat { beat, answer }).await
    }

    /// A heartbeat was refused for what it said; the executor lives all the same.
    pub async fn refused_heartbeat(&self, executor: Arc<str>) -> Result<(), Gone> {
        self.send(Command::RefusedHeartbeat { executor }).await
    }

    /// Who owns a shard, waiting until somebody does; makes it if it is
    /// ephemeral and new.
    pub async fn locate(&self, key: Arc<str>) -> Result<Outcome, Gone> {
        self.ask(|answer| Command::Locate { key, answer }).await
    }

    /// Gives an order and waits until it is stored. Answers what it changed.
    pub async fn order(&self, order: Order) -> Result<Vec<Arc<str>>, Gone> {
        self.order_because(order, String::new()).await
    }

    /// The same with who gave it and why, for the history.
    pub async fn order_because(&self, order: Order, why: String) -> Result<Vec<Arc<str>>, Gone> {
        match self.ask(|answer| Command::Order { order, why, answer }).await? {
            Outcome::Ordered { changed } => Ok(changed),
            Outcome::Owner { .. } | Outcome::Drained | Outcome::NotFound | Outcome::NoExecutor => {
                Ok(Vec::new())
            }
        }
    }

    /// Reads the machine between two turns.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(Time, &Namespace) -> T + Send + 'static,
    ) -> Result<T, Gone> {
        self.ask(|answer| {
            Command::Read(Box::new(move |now, namespace| {
                // The caller may have gone: then nobody wants the answer.
                drop(answer.send(read(now, namespace)));
            }))
        })
        .await
    }

    /// Ends the driver; every session is told why.
    pub async fn close(&self, farewell: Farewell) {
        // A driver that has ended already needs no telling.
        let _ = self.send(Command::Close(farewell)).await;
    }

    /// Ends the driver and gives its state to the caller, to be handed on.
    pub async fn hand_out(&self) -> Result<HandOut, Gone> {
        self.ask(Command::HandOut).await
    }

    /// Has the driver look whether it may go on.
    pub async fn wake(&self) {
        // A driver that has ended needs no waking.
        let _ = self.send(Command::Read(Box::new(|_, _| ()))).await;
    }

    /// Waits until the driver has ended.
    pub async fn ended(&self) {
        self.commands.closed().await;
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Gone> {
        let (answer, answered) = oneshot::channel();
        self.send(command(answer)).await?;
        answered.await.map_err(|_| Gone)
    }

    async fn send(&self, command: Command) -> Result<(), Gone> {
        self.commands.send(command).await.map_err(|_| Gone)
    }
}
