//! One instance of a shard: the application's `start`, then a wait for the order
//! to stop, then its `hand_over` or `stop`, in one task. So of one instance only
//! one of them can ever run, and that the next instance begins after this one is
//! the holder's care.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use plimsoll_ownership::message::{MAX_STATE_BYTES, State};
use tokio::sync::{mpsc, oneshot};

use super::doors::Door;
use crate::{BoxError, Shard, Shards};

/// A start or stop that takes longer is complained about.
const SLOW_AFTER: Duration = Duration::from_secs(10);

/// What became of an instance, or of a preparation. An instance comes to an end
/// with `Stopped`, or with a `Started` that failed if no order to stop is under
/// way.
#[derive(Debug)]
pub(super) enum Report {
    Started { shard: Shard, outcome: Result<(), String> },
    Stopped { shard: Shard, state: Option<State> },
    Prepared { shard: Arc<str>, generation: u64, outcome: Result<(), String> },
    Abandoned { shard: Arc<str>, generation: u64 },
}

/// How an instance ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    /// Requests may end first, within this; then the shard is handed over.
    HandOver { drain_within: Duration },
    /// The same, but nobody is there to hand it to.
    Stop { drain_within: Duration },
    /// The right to run it is gone.
    AtOnce,
}

/// What an instance needs beside its shard.
#[derive(Debug)]
pub(super) struct Instance {
    /// Shut when the order to stop comes.
    pub(super) door: Arc<Door>,
    /// Ends when nothing of the shard's earlier preparation runs any more.
    pub(super) after: Option<oneshot::Receiver<()>>,
    pub(super) stop: oneshot::Receiver<Ending>,
    pub(super) reports: mpsc::UnboundedSender<Report>,
}

/// Runs one instance from its start to the end of its stop.
pub(super) async fn run<S: Shards>(shards: Arc<S>, shard: Shard, instance: Instance) {
    let Instance { door, after, stop, reports } = instance;
    if let Some(after) = after {
        // It ends with an error, since nothing is ever sent.
        let _ = after.await;
    }
    let outcome = start(&*shards, &shard).await;
    let runs = outcome.is_ok();
    // Nobody listens once the executor was dropped: then the next wait ends too.
    let _ = reports.send(Report::Started { shard: shard.clone(), outcome });
    if let Ok(ending) = stop.await {
        let state = if runs { end(&*shards, &shard, &door, ending).await } else { None };
        let _ = reports.send(Report::Stopped { shard, state });
    }
}

async fn start<S: Shards>(shards: &S, shard: &Shard) -> Result<(), String> {
    let start = AssertUnwindSafe(shards.start(shard.clone())).catch_unwind();
    match complain_if_slow(start, shard, "start").await {
        Ok(outcome) => outcome.map_err(|error: BoxError| error.to_string()),
        Err(_) => Err("start panicked".to_owned()),
    }
}

async fn end<S: Shards>(shards: &S, shard: &Shard, door: &Door, ending: Ending) -> Option<State> {
    match ending {
        Ending::AtOnce => {
            door.evict();
            stop(shards, shard).await;
            None
        }
        Ending::Stop { drain_within } => {
            drain(shard, door, drain_within).await;
            stop(shards, shard).await;
            None
        }
        Ending::HandOver { drain_within } => {
            drain(shard, door, drain_within).await;
            hand_over(shards, shard).await
        }
    }
}

/// Waits for the requests that are inside. The lease may end meanwhile, which
/// whoever serves them hears too: they are not waited for then.
async fn drain(shard: &Shard, door: &Door, within: Duration) {
    tokio::select! {
        () = door.emptied() => {}
        () = door.evicted() => {}
        () = tokio::time::sleep(within) => {
            let (key, requests) = (shard.key(), door.inside());
            tracing::warn!(shard = key, requests, ?within, "still served: the shard stops");
        }
    }
    door.evict();
}

async fn stop<S: Shards>(shards: &S, shard: &Shard) {
    let stop = AssertUnwindSafe(shards.stop(shard.clone())).catch_unwind();
    if complain_if_slow(stop, shard, "stop").await.is_err() {
        tracing::error!(shard = shard.key(), "stop panicked: taken for stopped");
    }
}

async fn hand_over<S: Shards>(shards: &S, shard: &Shard) -> Option<State> {
    let hand_over = AssertUnwindSafe(shards.hand_over(shard.clone())).catch_unwind();
    match complain_if_slow(hand_over, shard, "hand_over").await {
        Ok(state) => fitting(shard, state),
        Err(_) => {
            tracing::error!(shard = shard.key(), "hand_over panicked: taken for stopped");
            None
        }
    }
}

fn fitting(shard: &Shard, state: Vec<u8>) -> Option<State> {
    let (key, bytes) = (shard.key(), state.len());
    if bytes > MAX_STATE_BYTES {
        tracing::warn!(shard = key, bytes, most = MAX_STATE_BYTES, "too long, no state is passed");
        return None;
    }
    (bytes > 0).then(|| state.into())
}

async fn complain_if_slow<F: Future>(work: F, shard: &Shard, step: &'static str) -> F::Output {
    tokio::pin!(work);
    if let Ok(output) = tokio::time::timeout(SLOW_AFTER, &mut work).await {
        return output;
    }
    let (key, generation) = (shard.key(), shard.generation());
    tracing::warn!(shard = key, generation, step, after = ?SLOW_AFTER, "still under way");
    work.await
}
