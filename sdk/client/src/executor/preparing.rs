//! Shards that may come: the application's `prepare`, then a wait for what becomes
//! of it, then its `abandon` if the shard does not come. One task each, and never
//! two of a shard at a time: the next waits for the end of the one before, as the
//! start of the shard does.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use plimsoll_ownership::message::Preparation;
use tokio::sync::{mpsc, oneshot};

use super::instance::Report;
use crate::Shards;

/// The preparations that were begun and neither used nor given free.
#[derive(Debug, Default)]
pub(super) struct Preparing {
    shards: HashMap<Arc<str>, UnderWay>,
}

#[derive(Debug)]
struct UnderWay {
    generation: u64,
    /// Tells that the shard does not come; dropped if it does. Taken when that was
    /// done.
    abandon: Option<oneshot::Sender<()>>,
    over: oneshot::Receiver<()>,
}

/// What a preparation needs beside its shard.
#[derive(Debug)]
pub(super) struct Task {
    preparation: Preparation,
    after: Option<oneshot::Receiver<()>>,
    abandoned: oneshot::Receiver<()>,
    _over: oneshot::Sender<()>,
}

impl Preparing {
    /// The task that prepares a shard. One that was prepared before is given free.
    pub(super) fn begin(&mut self, preparation: Preparation) -> Task {
        self.abandon(&preparation.shard);
        let (abandon, abandoned) = oneshot::channel();
        let (task_is_over, over) = oneshot::channel();
        let (shard, generation) = (Arc::clone(&preparation.shard), preparation.generation);
        let under_way = UnderWay { generation, abandon: Some(abandon), over };
        let before = self.shards.insert(shard, under_way);
        let after = before.map(|before| before.over);
        Task { preparation, after, abandoned, _over: task_is_over }
    }

    /// The shard does not come.
    pub(super) fn abandon(&mut self, shard: &str) {
        let abandon = self.shards.get_mut(shard).and_then(|it| it.abandon.take());
        if let Some(abandon) = abandon {
            // A task that is gone has nothing to give free.
            let _ = abandon.send(());
        }
    }

    /// The shard comes: what to wait for before it starts.
    pub(super) fn take(&mut self, shard: &str) -> Option<oneshot::Receiver<()>> {
        self.shards.remove(shard).map(|it| it.over)
    }

    /// What was prepared has been given free.
    pub(super) fn forget(&mut self, shard: &str, generation: u64) {
        if self.shards.get(shard).is_some_and(|it| it.generation == generation) {
            self.shards.remove(shard);
        }
    }
}

/// Runs one preparation to its end.
pub(super) async fn run<S: Shards>(
    shards: Arc<S>,
    mut task: Task,
    reports: mpsc::UnboundedSender<Report>,
) {
    if let Some(after) = task.after.take() {
        // It ends with an error, since nothing is ever sent.
        let _ = after.await;
    }
    let (shard, generation) = (Arc::clone(&task.preparation.shard), task.preparation.generation);
    let abandoned = tokio::select! {
        biased;
        abandoned = &mut task.abandoned => abandoned,
        outcome = prepare(&*shards, &shard) => {
            let shard = Arc::clone(&shard);
            // Nobody listens once the executor was dropped: the next wait ends too.
            let _ = reports.send(Report::Prepared { shard, generation, outcome });
            (&mut task.abandoned).await
        }
    };
    if abandoned.is_ok() {
        give_free(&*shards, &shard).await;
        let _ = reports.send(Report::Abandoned { shard, generation });
    }
}

async fn prepare<S: Shards>(shards: &S, shard: &str) -> Result<(), String> {
    match AssertUnwindSafe(shards.prepare(shard)).catch_unwind().await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err("prepare panicked".to_owned()),
    }
}

async fn give_free<S: Shards>(shards: &S, shard: &str) {
    if AssertUnwindSafe(shards.abandon(shard)).catch_unwind().await.is_err() {
        tracing::error!(shard, "abandon panicked: taken for done");
    }
}
