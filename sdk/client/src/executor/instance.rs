//! One instance of a shard: the application's `start`, then a wait for the order
//! to stop, then its `stop`, in one task. So of one instance only one of them can
//! ever run, and that the next instance begins after this one is the holder's care.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::{mpsc, oneshot};

use crate::{BoxError, Shard, Shards};

/// A start or stop that takes longer is complained about.
const SLOW_AFTER: Duration = Duration::from_secs(10);

/// What became of an instance. It comes to an end with `Stopped`, or with a
/// `Started` that failed if no order to stop is under way.
#[derive(Debug)]
pub(super) enum Report {
    Started { shard: Shard, outcome: Result<(), String> },
    Stopped { shard: Shard },
}

/// Runs one instance from its start to the end of its stop.
pub(super) async fn run<S: Shards>(
    shards: Arc<S>,
    shard: Shard,
    stop: oneshot::Receiver<()>,
    reports: mpsc::UnboundedSender<Report>,
) {
    let outcome = start(&*shards, &shard).await;
    let runs = outcome.is_ok();
    // Nobody listens once the executor was dropped: then the next wait ends too.
    let _ = reports.send(Report::Started { shard: shard.clone(), outcome });
    if stop.await.is_ok() {
        if runs {
            end(&*shards, &shard).await;
        }
        let _ = reports.send(Report::Stopped { shard });
    }
}

async fn start<S: Shards>(shards: &S, shard: &Shard) -> Result<(), String> {
    let start = AssertUnwindSafe(shards.start(shard.clone())).catch_unwind();
    match complain_if_slow(start, shard, "start").await {
        Ok(outcome) => outcome.map_err(|error: BoxError| error.to_string()),
        Err(_) => Err("start panicked".to_owned()),
    }
}

async fn end<S: Shards>(shards: &S, shard: &Shard) {
    let stop = AssertUnwindSafe(shards.stop(shard.clone())).catch_unwind();
    if complain_if_slow(stop, shard, "stop").await.is_err() {
        tracing::error!(shard = shard.key(), "stop panicked: taken for stopped");
    }
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
