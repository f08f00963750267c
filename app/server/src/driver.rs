//! Drives the machine of one namespace: takes commands, reads the clock, stores
//! batches, carries actions to those they are for. Decides nothing.
//!
//! One task a namespace owns the machine, so that nothing is ever locked while
//! it decides. Commands that arrive together are handled together, and what
//! they change is stored in one batch.

mod command;
mod dispatch;
mod handle;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_ownership::action::Farewell;
use plimsoll_ownership::ids::RequestId;
use plimsoll_ownership::namespace::Namespace;
use plimsoll_ownership::record::Write;
use plimsoll_placement::time::Time;
use plimsoll_store::{Epoch, Error as StoreError, Store};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::board::Board;
use crate::clock::Clock;
use crate::history::History;
use crate::metrics::NamespaceMetrics;

use command::Pending;
pub use command::{Command, SessionStream};
use dispatch::Dispatcher;
pub use handle::{Gone, NamespaceHandle};

/// Commands that may wait before callers do.
const QUEUE: usize = 16_384;
/// Commands handled before the store and the timers get their turn.
const BATCH: usize = 512;
/// How long a server that leaves may take to store what it has decided.
const FLUSH: Duration = Duration::from_millis(300);
/// How often metrics are brought up to date.
const HOUSEKEEPING: Duration = Duration::from_secs(1);
/// How often smoothed loads are stored, so that a restart knows them.
const CHECKPOINT: Duration = Duration::from_secs(60);
/// The wait before a failed commit is tried again; it doubles up to the longest.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// What a driver needs of the server.
#[derive(Debug)]
pub struct Surroundings {
    pub clock: Clock,
    pub store: Arc<dyn Store>,
    pub epoch: Epoch,
    pub metrics: NamespaceMetrics,
}

/// The driver of one namespace.
pub struct Driver {
    namespace: Namespace,
    around: Surroundings,
    board: Arc<Board>,
    history: Arc<History>,
    commands: mpsc::Receiver<Command>,
    dispatcher: Dispatcher,
    commit: Option<BoxFuture<'static, Result<(), StoreError>>>,
    next_housekeeping: Time,
    next_checkpoint: Time,
    requests: u64,
}

/// Why a driver ended.
#[derive(Debug)]
pub enum End {
    /// It was told to.
    Closed,
    /// Another server leads the namespace, or the namespace was deleted.
    Lost(StoreError),
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("namespace", self.namespace.name()).finish_non_exhaustive()
    }
}

impl Driver {
    /// A driver and the handle to it.
    pub fn new(namespace: Namespace, around: Surroundings) -> (Self, NamespaceHandle) {
        let (sender, commands) = mpsc::channel(QUEUE);
        let now = around.clock.now();
        let epoch = format!("{}-{}", around.epoch, around.clock.epoch_ms());
        let board = Arc::new(Board::new(now, epoch.into(), &namespace));
        let history = Arc::new(History::default());
        let handle = NamespaceHandle::new(
            namespace.name().clone(),
            namespace.kind(),
            around.clock,
            board.clone(),
            history.clone(),
            sender,
        );
        let driver = Self {
            namespace,
            board,
            history,
            commands,
            dispatcher: Dispatcher::default(),
            commit: None,
            next_housekeeping: now,
            next_checkpoint: now + CHECKPOINT,
            requests: 0,
            around,
        };
        (driver, handle)
    }

    /// Runs until it is closed or loses the namespace.
    pub async fn run(mut self) -> End {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let due = self.namespace.poll_timeout().min(self.next_housekeeping);
            let timer = sleep_until(Instant::from_std(self.around.clock.instant(due)));
            tokio::select! {
                biased;
                stored = stored(&mut self.commit) => {
                    self.commit = None;
                    if let Err(error) = stored {
                        return self.lose(error);
                    }
                    self.namespace.committed(self.now());
                }
                received = self.commands.recv_many(&mut batch, BATCH) => {
                    if received == 0 {
                        return self.end(Farewell::ServerLeaving).await;
                    }
                }
                () = timer => {}
            }
            if let Some(farewell) = self.turn(&mut batch) {
                return self.end(farewell).await;
            }
        }
    }

    /// One turn: commands in, timers, actions out, the next batch to the store.
    fn turn(&mut self, batch: &mut Vec<Command>) -> Option<Farewell> {
        let now = self.now();
        let mut answers = Vec::new();
        let mut farewell = None;
        for command in batch.drain(..) {
            match self.take(now, command) {
                Some(Pending::Farewell(why)) => farewell = Some(why),
                Some(pending) => answers.push(pending),
                None => {}
            }
        }
        if now >= self.namespace.poll_timeout() {
            self.namespace.handle_timeout(now);
        }
        self.keep_house(now);
        self.namespace.settle(now);
        for answer in answers {
            answer.give(now, &mut self.namespace);
        }
        self.begin_commit();
        self.dispatch(now);
        farewell
    }

    fn dispatch(&mut self, now: Time) {
        let (board, history) = (&self.board, &self.history);
        self.dispatcher.dispatch(now, &mut self.namespace, board, history, &self.around);
    }

    fn begin_commit(&mut self) {
        if self.commit.is_none()
            && let Some(writes) = self.namespace.take_commit()
        {
            let (store, epoch) = (self.around.store.clone(), self.around.epoch);
            let name = self.namespace.name().clone();
            let metrics = self.around.metrics.clone();
            self.commit = Some(store_until_it_holds(store, name, epoch, writes, metrics).boxed());
        }
    }

    /// What is done now and then: metrics, requests that nobody waits for any
    /// more, a checkpoint of loads.
    fn keep_house(&mut self, now: Time) {
        if now >= self.next_housekeeping {
            self.next_housekeeping = now + HOUSEKEEPING;
            self.around.metrics.observe(now, &self.namespace);
            self.dispatcher.sweep(&mut self.namespace);
        }
        if now >= self.next_checkpoint {
            self.next_checkpoint = now + CHECKPOINT;
            self.namespace.request_checkpoint(now);
        }
    }

    async fn end(mut self, farewell: Farewell) -> End {
        self.namespace.close(farewell);
        let now = self.now();
        self.dispatch(now);
        if farewell == Farewell::ServerLeaving {
            self.namespace.request_checkpoint(now);
            // What is not stored in time is found out at the next start.
            let _ = tokio::time::timeout(FLUSH, self.flush()).await;
        }
        End::Closed
    }

    /// Stores what has been decided, so that the next start does not decide it
    /// again.
    async fn flush(&mut self) {
        self.begin_commit();
        while self.commit.is_some() {
            let stored = stored(&mut self.commit).await;
            self.commit = None;
            if stored.is_err() {
                return;
            }
            self.namespace.committed(self.now());
            self.begin_commit();
        }
    }

    fn lose(mut self, error: StoreError) -> End {
        // A batch on its way may hear of a deletion before the order to end comes.
        let deleted = matches!(error, StoreError::NotFound { .. });
        self.namespace.close(match deleted {
            true => Farewell::NamespaceDeleted,
            false => Farewell::ServerLeaving,
        });
        let now = self.now();
        self.dispatch(now);
        End::Lost(error)
    }

    fn now(&self) -> Time {
        self.around.clock.now()
    }

    fn next_request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }
}

/// Waits for the commit on its way; for ever if there is none.
async fn stored(
    commit: &mut Option<BoxFuture<'static, Result<(), StoreError>>>,
) -> Result<(), StoreError> {
    match commit {
        Some(commit) => commit.await,
        None => std::future::pending().await,
    }
}

/// Stores a batch, again and again while the store is in trouble: nobody is told
/// of anything before it holds. Ends early only if the namespace is lost.
async fn store_until_it_holds(
    store: Arc<dyn Store>,
    namespace: Arc<str>,
    epoch: Epoch,
    writes: Vec<Write>,
    metrics: NamespaceMetrics,
) -> Result<(), StoreError> {
    let mut wait = FIRST_RETRY;
    loop {
        match store.commit(&namespace, epoch, writes.clone()).await {
            Ok(()) => {
                if wait > FIRST_RETRY {
                    metrics.store_failing(false);
                }
                return Ok(());
            }
            Err(error @ (StoreError::Fenced { .. } | StoreError::NotFound { .. })) => {
                return Err(error);
            }
            Err(error) => {
                metrics.store_failing(true);
                tracing::error!(%namespace, %error, ?wait, "cannot store changes: nothing moves until it works");
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_RETRY);
    }
}
