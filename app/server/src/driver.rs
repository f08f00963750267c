//! Drives the machine of one namespace: takes commands, reads the clock, stores
//! batches, carries actions to those they are for. Decides nothing.
//!
//! One task a namespace owns the machine, so that nothing is ever locked while
//! it decides. Commands that arrive together are handled together, and what
//! they change is stored in one batch.

mod command;
mod dispatch;
mod handle;
mod pacing;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_ownership::action::Farewell;
use plimsoll_ownership::handover::HandoverState;
use plimsoll_ownership::ids::RequestId;
use plimsoll_ownership::namespace::Namespace;
use plimsoll_ownership::record::Write;
use plimsoll_placement::time::Time;
use plimsoll_store::{Epoch, Error as StoreError, Store};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::board::{Board, Writer};
use crate::clock::Clock;
use crate::confidence::Confidence;
use crate::history::History;
use crate::metrics::NamespaceMetrics;

use command::Pending;
pub use command::{Command, SessionStream};
use dispatch::Dispatcher;
pub use handle::{Gone, NamespaceHandle};
pub use pacing::Pacing;

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
    /// Without it nothing is acknowledged.
    pub confidence: Confidence,
    /// A change that is not stored within this time never is: somebody else may have
    /// better luck. `None`: there is nobody else.
    pub commit_within: Option<Duration>,
    pub metrics: NamespaceMetrics,
}

/// The driver of one namespace.
pub struct Driver {
    namespace: Namespace,
    around: Surroundings,
    board: Arc<Board>,
    writer: Writer,
    history: Arc<History>,
    commands: mpsc::Receiver<Command>,
    dispatcher: Dispatcher,
    commit: Option<Committing>,
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
    /// Its leadership is not confirmed any more.
    Silent,
    /// Its changes could not be stored in time.
    Stuck,
    /// Another server has its state, or nobody: it was handed out.
    HandedOver,
}

/// What a driver gives away, once.
#[derive(Debug)]
pub struct HandOut {
    pub state: HandoverState,
    /// Sessions are told to go elsewhere when this is dropped.
    pub until: oneshot::Sender<()>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("namespace", self.namespace.name()).finish_non_exhaustive()
    }
}

impl Driver {
    /// A driver that writes on this board, and the handle to it.
    pub fn new(
        namespace: Namespace,
        board: Arc<Board>,
        around: Surroundings,
        pacing: Pacing,
    ) -> (Self, NamespaceHandle) {
        let (sender, commands) = mpsc::channel(QUEUE);
        let now = around.clock.now();
        let epoch = format!("{}-{}", around.epoch, around.clock.epoch_ms());
        let writer = board.restart(now, epoch.into(), &namespace);
        let history = Arc::new(History::default());
        let handle = NamespaceHandle::new(
            namespace.name().clone(),
            namespace.kind(),
            around.clock,
            board.clone(),
            history.clone(),
            sender,
            pacing,
        );
        let driver = Self {
            namespace,
            board,
            writer,
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
            let due = due.min(self.around.confidence.end());
            let timer = sleep_until(Instant::from_std(self.around.clock.instant(due)));
            tokio::select! {
                biased;
                stored = stored(&mut self.commit) => {
                    self.commit = None;
                    match stored {
                        Ok(()) => self.namespace.committed(self.now()),
                        Err(NotStored::Refused(error)) => return self.lose(error),
                        Err(NotStored::InTime) => return self.fall_silent(End::Stuck),
                    }
                }
                received = self.commands.recv_many(&mut batch, BATCH) => {
                    if received == 0 {
                        return self.end(Farewell::ServerLeaving).await;
                    }
                }
                () = timer => {}
            }
            // What came in is dropped unanswered: whoever sent it asks again elsewhere.
            if self.now() >= self.around.confidence.end() {
                return self.fall_silent(End::Silent);
            }
            match self.turn(&mut batch) {
                None => {}
                Some(Last::Farewell(farewell)) => return self.end(farewell).await,
                Some(Last::HandOut(to)) => return self.hand_out(to).await,
            }
        }
    }

    /// One turn: commands in, timers, actions out, the next batch to the store.
    fn turn(&mut self, batch: &mut Vec<Command>) -> Option<Last> {
        let now = self.now();
        let mut answers = Vec::new();
        let mut last = None;
        for command in batch.drain(..) {
            match self.take(now, command) {
                Some(Pending::Last(what)) => last = Some(what),
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
        last
    }

    fn dispatch(&mut self, now: Time) {
        let (board, history) = ((&*self.board, self.writer), &self.history);
        self.dispatcher.dispatch(now, &mut self.namespace, board, history, &self.around);
    }

    fn begin_commit(&mut self) {
        if self.commit.is_none()
            && let Some(writes) = self.namespace.take_commit()
        {
            let (store, epoch) = (self.around.store.clone(), self.around.epoch);
            let name = self.namespace.name().clone();
            let metrics = self.around.metrics.clone();
            let stored = store_until_it_holds(store, name, epoch, writes, metrics);
            self.commit = Some(in_time(self.around.commit_within, stored).boxed());
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

    /// Gives the state away and tells everybody to go where it goes.
    async fn hand_out(mut self, to: oneshot::Sender<HandOut>) -> End {
        // What is on its way must be known to have been stored, or not.
        if tokio::time::timeout(FLUSH, self.flush()).await.is_err() || self.commit.is_some() {
            return self.fall_silent(End::HandedOver);
        }
        let state = self.namespace.hand_over(self.now());
        let (until, taken) = oneshot::channel();
        if to.send(HandOut { state, until }).is_ok() {
            // An error is what ends it.
            let _ = taken.await;
        }
        self.fall_silent(End::HandedOver)
    }

    /// Ends without storing anything more; sessions are told to go elsewhere.
    fn fall_silent(mut self, end: End) -> End {
        self.namespace.close(Farewell::ServerLeaving);
        self.dispatcher.farewell(&mut self.namespace);
        end
    }

    fn lose(mut self, error: StoreError) -> End {
        // A batch on its way may hear of a deletion before the order to end comes.
        let deleted = matches!(error, StoreError::NotFound { .. });
        self.namespace.close(match deleted {
            true => Farewell::NamespaceDeleted,
            false => Farewell::ServerLeaving,
        });
        self.dispatcher.farewell(&mut self.namespace);
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

type Committing = BoxFuture<'static, Result<(), NotStored>>;

/// Why a batch was not stored.
#[derive(Debug)]
enum NotStored {
    Refused(StoreError),
    /// Nobody knows whether it will be.
    InTime,
}

/// What ends a driver in good order.
#[derive(Debug)]
enum Last {
    Farewell(Farewell),
    HandOut(oneshot::Sender<HandOut>),
}

async fn in_time(
    within: Option<Duration>,
    stored: impl Future<Output = Result<(), StoreError>>,
) -> Result<(), NotStored> {
    let Some(within) = within else { return stored.await.map_err(NotStored::Refused) };
    match tokio::time::timeout(within, stored).await {
        Ok(stored) => stored.map_err(NotStored::Refused),
        Err(_) => Err(NotStored::InTime),
    }
}

/// Waits for the commit on its way; for ever if there is none.
async fn stored(commit: &mut Option<Committing>) -> Result<(), NotStored> {
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
